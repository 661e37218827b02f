// Comparison into bits, choice by bits, and gathering.
#pragma once

#include "vector_op.h"

namespace AscendC {

template <typename T> bool holds(T a, T b, CMPMODE mode)
{
    switch (mode) {
        case CMPMODE::LT:
            return a < b;
        case CMPMODE::GT:
            return a > b;
        case CMPMODE::EQ:
            return a == b;
        case CMPMODE::LE:
            return a <= b;
        case CMPMODE::GE:
            return a >= b;
        default:
            return a != b;
    }
}

// Whole repeats only: what is beyond the last multiple of 256 bytes would not be compared.
template <typename T>
void need_repeats(const VectorOp &op, uint32_t count)
{
    if (uint64_t{count} * sizeof(T) % emulated::REPEAT_BYTES != 0) {
        op.fail(std::to_string(count) + " elements are no multiple of 256 bytes");
    }
}

template <typename T, typename U>
void Compare(const LocalTensor<U> &dst, const LocalTensor<T> &src0, const LocalTensor<T> &src1,
             CMPMODE mode, uint32_t count, Site site = Site::here())
{
    static_assert(sizeof(U) == 1 && is_one_of<T, half, float, int32_t>(), "no such comparison");
    const VectorOp op("Compare", site);
    need_repeats<T>(op, count);
    if (std::is_same<T, int32_t>::value && mode != CMPMODE::EQ) {
        op.fail("int32_t can only be compared for equality");
    }
    op.overlap(dst, count / 8, src0, count, false);
    op.overlap(dst, count / 8, src1, count, false);
    op.in(src0, count);
    op.in(src1, count);
    op.out(dst, count / 8);
    for (uint32_t byte = 0; byte < count / 8; ++byte) {
        uint8_t bits = 0;
        for (uint32_t bit = 0; bit < 8; ++bit) {
            const T a = src0.load(op.core, byte * 8 + bit);
            const T b = src1.load(op.core, byte * 8 + bit);
            op.number(a);
            op.number(b);
            bits |= static_cast<uint8_t>(holds(a, b, mode) ? 1u << bit : 0u);
        }
        dst.store(op.core, byte, static_cast<U>(bits));
    }
}

template <typename T, typename U>
void CompareScalar(const LocalTensor<U> &dst, const LocalTensor<T> &src, const T scalar,
                   CMPMODE mode, uint32_t count, Site site = Site::here())
{
    static_assert(sizeof(U) == 1 && is_one_of<T, half, float, int32_t>(), "no such comparison");
    const VectorOp op("CompareScalar", site);
    need_repeats<T>(op, count);
    if (std::is_same<T, int32_t>::value && mode != CMPMODE::EQ) {
        op.fail("int32_t can only be compared for equality");
    }
    op.overlap(dst, count / 8, src, count, false);
    op.in(src, count);
    op.out(dst, count / 8);
    for (uint32_t byte = 0; byte < count / 8; ++byte) {
        uint8_t bits = 0;
        for (uint32_t bit = 0; bit < 8; ++bit) {
            const T value = src.load(op.core, byte * 8 + bit);
            op.number(value);
            bits |= static_cast<uint8_t>(holds(value, scalar, mode) ? 1u << bit : 0u);
        }
        dst.store(op.core, byte, static_cast<U>(bits));
    }
}

template <typename U> bool chosen(const VectorOp &op, const LocalTensor<U> &bits, uint32_t at)
{
    return (op.core.ub[bits.offset() + at / 8] >> (at % 8) & 1) != 0;
}

// A set bit takes the source, a clear one the scalar.
template <typename T, typename U>
void Select(const LocalTensor<T> &dst, const LocalTensor<U> &bits, const LocalTensor<T> &src,
            T scalar, SELMODE mode, uint32_t count, Site site = Site::here())
{
    static_assert(is_one_of<T, half, float>(), "Select has no such element type");
    const VectorOp op("Select", site);
    if (mode != SELMODE::VSEL_TENSOR_SCALAR_MODE) {
        op.fail("a scalar needs VSEL_TENSOR_SCALAR_MODE");
    }
    const uint32_t words = (count + 8 * sizeof(U) - 1) / (8 * sizeof(U));
    op.overlap(dst, count, src, count);
    op.overlap(dst, count, bits, words, false);
    op.in(bits, words);
    op.in(src, count);
    op.out(dst, count);
    for (uint32_t at = 0; at < count; ++at) {
        dst.store(op.core, at, chosen(op, bits, at) ? src.load(op.core, at) : scalar);
    }
}

template <typename T, typename U>
void Select(const LocalTensor<T> &dst, const LocalTensor<U> &bits, const LocalTensor<T> &src0,
            const LocalTensor<T> &src1, SELMODE mode, uint32_t count, Site site = Site::here())
{
    static_assert(is_one_of<T, half, float>(), "Select has no such element type");
    const VectorOp op("Select", site);
    if (mode != SELMODE::VSEL_TENSOR_TENSOR_MODE) {
        op.fail("two tensors need VSEL_TENSOR_TENSOR_MODE");
    }
    const uint32_t words = (count + 8 * sizeof(U) - 1) / (8 * sizeof(U));
    op.overlap(dst, count, src0, count);
    op.overlap(dst, count, src1, count);
    op.overlap(dst, count, bits, words, false);
    op.in(bits, words);
    op.in(src0, count);
    op.in(src1, count);
    op.out(dst, count);
    for (uint32_t at = 0; at < count; ++at) {
        const bool first = chosen(op, bits, at);
        dst.store(op.core, at, first ? src0.load(op.core, at) : src1.load(op.core, at));
    }
}

// Elements whose bits are set, packed; what follows them in the destination is undefined.
template <typename T, typename F>
void gather_mask(const VectorOp &op, const LocalTensor<T> &dst, const LocalTensor<T> &src,
                 bool counted, uint32_t mask, const GatherMaskParams &by, uint64_t &kept, F take,
                 Site site)
{
    op.repeats(by.repeatTimes);
    const uint32_t lanes = counted ? mask : emulated::REPEAT_BYTES / sizeof(T);
    std::vector<T> found;
    uint32_t last = 0;
    for (uint32_t repeat = 0; repeat < by.repeatTimes; ++repeat) {
        for (uint32_t lane = 0; lane < lanes; ++lane) {
            const uint32_t from =
                element<T>(repeat, lane, by.src0BlockStride, by.src0RepeatStride);
            src.need(op.core, uint64_t{from} + 1, site);
            op.touch(src, from, false);
            last = std::max(last, from + 1);
            if (take(repeat, lane)) {
                found.push_back(src.load(op.core, from));
            }
        }
    }
    if (dst.offset() != src.offset()) {
        op.overlap(dst, found.size(), src, last, false);
    }
    kept = found.size();
    // the last block is written whole, with whatever
    const uint64_t blocks = (found.size() * sizeof(T) + 31) / 32 * 32;
    op.out(dst, blocks / sizeof(T));
    op.core.undefine(dst.offset(), static_cast<uint32_t>(blocks));
    std::memset(&op.core.defined[dst.offset()], 1, found.size() * sizeof(T));
    for (size_t at = 0; at < found.size(); ++at) {
        dst.store(op.core, static_cast<uint32_t>(at), found[at]);
    }
}

template <typename T, typename U>
void GatherMask(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<U> &bits,
                const bool counted, const uint32_t mask, const GatherMaskParams &by,
                uint64_t &kept, Site site = Site::here())
{
    static_assert(sizeof(T) == sizeof(U) && std::is_unsigned<U>::value,
                  "bits are of unsigned elements as wide as the data");
    const VectorOp op("GatherMask", site);
    dst.need_aligned(op.core, emulated::BLOCK_BYTES, "GatherMask", site);
    src.need_aligned(op.core, emulated::BLOCK_BYTES, "GatherMask", site);
    const uint32_t lanes = counted ? mask : emulated::REPEAT_BYTES / sizeof(T);
    const uint32_t words = (lanes + 8 * sizeof(U) - 1) / (8 * sizeof(U));
    constexpr uint32_t per_block = emulated::BLOCK_BYTES / sizeof(U);
    bits.need_aligned(op.core, emulated::BLOCK_BYTES, "GatherMask", site);
    for (uint32_t repeat = 0; repeat < by.repeatTimes; ++repeat) {
        for (uint32_t word = 0; word < words; ++word) {
            const uint32_t at = repeat * by.src1RepeatStride * per_block + word;
            bits.need(op.core, uint64_t{at} + 1, site);
            op.touch(bits, at, false);
        }
    }
    gather_mask(
        op, dst, src, counted, mask, by, kept,
        [&](uint32_t repeat, uint32_t lane) {
            const uint32_t skipped = repeat * by.src1RepeatStride * emulated::BLOCK_BYTES;
            return (op.core.ub[bits.offset() + skipped + lane / 8] >> (lane % 8) & 1) != 0;
        },
        site);
}

// By one of the built-in patterns: 1 even elements, 2 odd ones, 3 to 6 each fourth, 7 all.
template <typename T>
void GatherMask(const LocalTensor<T> &dst, const LocalTensor<T> &src, const uint8_t pattern,
                const bool counted, const uint32_t mask, const GatherMaskParams &by,
                uint64_t &kept, Site site = Site::here())
{
    const VectorOp op("GatherMask", site);
    dst.need_aligned(op.core, emulated::BLOCK_BYTES, "GatherMask", site);
    src.need_aligned(op.core, emulated::BLOCK_BYTES, "GatherMask", site);
    if (pattern < 1 || pattern > 7) {
        op.fail("pattern " + std::to_string(pattern) + ", allowed: 1 to 7");
    }
    gather_mask(
        op, dst, src, counted, mask, by, kept,
        [pattern](uint32_t, uint32_t lane) {
            return pattern <= 2   ? lane % 2 == pattern - 1u
                   : pattern <= 6 ? lane % 4 == pattern - 3u
                                  : true;
        },
        site);
}

// dst[i] = the element `offset[i]` bytes behind the base.
template <typename T>
void Gather(const LocalTensor<T> &dst, const LocalTensor<T> &src,
            const LocalTensor<uint32_t> &offset, const uint32_t base, const uint32_t count,
            Site site = Site::here())
{
    const VectorOp op("Gather", site);
    op.in(offset, count);
    src.need_aligned(op.core, emulated::BLOCK_BYTES, "Gather", site);
    std::vector<T> found;
    uint32_t last = 0;
    for (uint32_t at = 0; at < count; ++at) {
        const uint32_t from = base + offset.load(op.core, at);
        if (from % sizeof(T) != 0) {
            op.fail("an offset of " + std::to_string(from) + " bytes is inside an element");
        }
        src.need(op.core, uint64_t{from} / sizeof(T) + 1, site);
        op.touch(src, from / sizeof(T), false);
        found.push_back(src.load(op.core, from / sizeof(T)));
        last = std::max<uint32_t>(last, from / sizeof(T) + 1);
    }
    op.overlap(dst, count, src, last, false);
    op.out(dst, count);
    for (uint32_t at = 0; at < count; ++at) {
        dst.store(op.core, at, found[at]);
    }
}

}  // namespace AscendC
