// Elementwise instructions: arithmetic, bits, conversion, filling.
#pragma once

#include "vector_op.h"

namespace AscendC {

template <typename T, typename F>
void binary(const char *name, const LocalTensor<T> &dst, const LocalTensor<T> &src0,
            const LocalTensor<T> &src1, int32_t count, F apply, Site site)
{
    const VectorOp op(name, site);
    op.overlap(dst, count, src0, count);
    op.overlap(dst, count, src1, count);
    op.in(src0, count);
    op.in(src1, count);
    op.out(dst, count);
    for (int32_t at = 0; at < count; ++at) {
        dst.store(op.core, at, apply(op, src0.load(op.core, at), src1.load(op.core, at)));
    }
}

// In repeats of 256 bytes; destinations of a repeat are no sources of a later one.
template <typename T, typename F>
void binary(const char *name, const LocalTensor<T> &dst, const LocalTensor<T> &src0,
            const LocalTensor<T> &src1, uint64_t mask, uint32_t repeats,
            const BinaryRepeatParams &by, F apply, Site site)
{
    const VectorOp op(name, site);
    op.repeats(repeats);
    const Lanes lanes = Lanes::first<T>(op, mask);
    dst.need_aligned(op.core, emulated::BLOCK_BYTES, name, site);
    src0.need_aligned(op.core, emulated::BLOCK_BYTES, name, site);
    src1.need_aligned(op.core, emulated::BLOCK_BYTES, name, site);
    std::vector<uint32_t> written;
    for (uint32_t repeat = 0; repeat < repeats; ++repeat) {
        std::vector<uint32_t> here;
        for (uint32_t lane = 0; lane < emulated::REPEAT_BYTES / sizeof(T); ++lane) {
            if (!lanes.has(lane)) {
                continue;
            }
            const uint32_t to = element<T>(repeat, lane, by.dstBlkStride, by.dstRepStride);
            const uint32_t a = element<T>(repeat, lane, by.src0BlkStride, by.src0RepStride);
            const uint32_t b = element<T>(repeat, lane, by.src1BlkStride, by.src1RepStride);
            dst.need(op.core, uint64_t{to} + 1, site);
            src0.need(op.core, uint64_t{a} + 1, site);
            src1.need(op.core, uint64_t{b} + 1, site);
            for (const uint32_t place : written) {
                if (place == src0.at(a) || place == src1.at(b)) {
                    op.fail("a repeat reads what an earlier one writes");
                }
            }
            op.touch(src0, a, false);
            op.touch(src1, b, false);
            op.touch(dst, to, true);
            dst.store(op.core, to, apply(op, src0.load(op.core, a), src1.load(op.core, b)));
            here.push_back(dst.at(to));
        }
        written.insert(written.end(), here.begin(), here.end());
    }
}

#define XGR_EMULATED_BINARY(NAME, EXPRESSION, ...)                                               \
    template <typename T>                                                                       \
    void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src0, const LocalTensor<T> &src1, \
              const int32_t &count, Site site = Site::here())                                   \
    {                                                                                           \
        static_assert(is_one_of<T, __VA_ARGS__>(), #NAME " has no such element type");          \
        binary(                                                                                 \
            #NAME, dst, src0, src1, count,                                                      \
            [](const VectorOp &op, T a, T b) -> T { (void)op; return EXPRESSION; }, site);      \
    }                                                                                           \
    template <typename T>                                                                       \
    void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src0, const LocalTensor<T> &src1, \
              uint64_t mask, const uint8_t repeats, const BinaryRepeatParams &by,               \
              Site site = Site::here())                                                         \
    {                                                                                           \
        static_assert(is_one_of<T, __VA_ARGS__>(), #NAME " has no such element type");          \
        binary(                                                                                 \
            #NAME, dst, src0, src1, mask, repeats, by,                                          \
            [](const VectorOp &op, T a, T b) -> T { (void)op; return EXPRESSION; }, site);      \
    }

XGR_EMULATED_BINARY(Add, static_cast<T>(a + b), half, float, int16_t, int32_t)
XGR_EMULATED_BINARY(Sub, static_cast<T>(a - b), half, float, int16_t, int32_t)
XGR_EMULATED_BINARY(Mul, static_cast<T>(a *b), half, float, int16_t, int32_t)
XGR_EMULATED_BINARY(Div, static_cast<T>(a / b), half, float)
XGR_EMULATED_BINARY(Max, (op.number(a), op.number(b), a > b ? a : b), half, float, int16_t,
                    int32_t)
XGR_EMULATED_BINARY(Min, (op.number(a), op.number(b), a < b ? a : b), half, float, int16_t,
                    int32_t)
XGR_EMULATED_BINARY(And, static_cast<T>(a &b), int16_t, uint16_t)
XGR_EMULATED_BINARY(Or, static_cast<T>(a | b), int16_t, uint16_t)
#undef XGR_EMULATED_BINARY

template <typename T, typename F>
void unary(const char *name, const LocalTensor<T> &dst, const LocalTensor<T> &src, int32_t count,
           F apply, Site site)
{
    const VectorOp op(name, site);
    op.overlap(dst, count, src, count);
    op.in(src, count);
    op.out(dst, count);
    for (int32_t at = 0; at < count; ++at) {
        dst.store(op.core, at, apply(op, src.load(op.core, at)));
    }
}

#define XGR_EMULATED_SCALAR(NAME, EXPRESSION, ...)                                              \
    template <typename T>                                                                       \
    void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src, const T &scalar,            \
              const int32_t &count, Site site = Site::here())                                   \
    {                                                                                           \
        static_assert(is_one_of<T, __VA_ARGS__>(), #NAME " has no such element type");          \
        const T b = scalar;                                                                     \
        unary(                                                                                  \
            #NAME, dst, src, count,                                                             \
            [b](const VectorOp &op, T a) -> T { (void)op; return EXPRESSION; }, site);          \
    }

XGR_EMULATED_SCALAR(Adds, static_cast<T>(a + b), half, float, int16_t, int32_t)
XGR_EMULATED_SCALAR(Muls, static_cast<T>(a *b), half, float, int16_t, int32_t)
XGR_EMULATED_SCALAR(Maxs, (op.number(a), op.number(b), a > b ? a : b), half, float, int16_t,
                    int32_t)
XGR_EMULATED_SCALAR(Mins, (op.number(a), op.number(b), a < b ? a : b), half, float, int16_t,
                    int32_t)
XGR_EMULATED_SCALAR(ShiftLeft, static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) << b),
                    uint16_t, uint32_t, int16_t, int32_t)
XGR_EMULATED_SCALAR(ShiftRight, static_cast<T>(a >> b), uint16_t, uint32_t, int16_t, int32_t)
#undef XGR_EMULATED_SCALAR

#define XGR_EMULATED_UNARY(NAME, EXPRESSION, ...)                                              \
    template <typename T>                                                                      \
    void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src, const int32_t &count,      \
              Site site = Site::here())                                                        \
    {                                                                                          \
        static_assert(is_one_of<T, __VA_ARGS__>(), #NAME " has no such element type");         \
        unary(                                                                                 \
            #NAME, dst, src, count,                                                            \
            [](const VectorOp &op, T a) -> T { (void)op; return EXPRESSION; }, site);          \
    }

XGR_EMULATED_UNARY(Exp, static_cast<T>(std::exp(static_cast<float>(a))), half, float)
XGR_EMULATED_UNARY(Ln, static_cast<T>(std::log(static_cast<float>(a))), half, float)
XGR_EMULATED_UNARY(Abs, static_cast<T>(std::fabs(static_cast<float>(a))), half, float)
XGR_EMULATED_UNARY(Not, static_cast<T>(~a), int16_t, uint16_t)
#undef XGR_EMULATED_UNARY

// To float from what models store, and whole numbers to float and back.
template <typename T, typename U>
void Cast(const LocalTensor<T> &dst, const LocalTensor<U> &src, const RoundMode &mode,
          uint32_t count, Site site = Site::here())
{
    static_assert((std::is_same<T, float>::value && is_one_of<U, half, bfloat16_t, int32_t>()) ||
                      (std::is_same<T, int32_t>::value && std::is_same<U, float>::value),
                  "no such conversion");
    const VectorOp op("Cast", site);
    op.overlap(dst, count, src, count);
    op.in(src, count);
    op.out(dst, count);
    for (uint32_t at = 0; at < count; ++at) {
        const float value = static_cast<float>(src.load(op.core, at));
        if (std::is_same<T, int32_t>::value) {
            op.number(value);
            dst.store(op.core, at,
                      static_cast<T>(mode == RoundMode::CAST_FLOOR   ? std::floor(value)
                                     : mode == RoundMode::CAST_CEIL  ? std::ceil(value)
                                     : mode == RoundMode::CAST_TRUNC ? std::trunc(value)
                                                                     : std::nearbyint(value)));
        } else {
            dst.store(op.core, at, static_cast<T>(value));
        }
    }
}

template <typename T>
void Duplicate(const LocalTensor<T> &dst, const T &scalar, const int32_t &count,
               Site site = Site::here())
{
    static_assert(is_one_of<T, int16_t, uint16_t, half, bfloat16_t, int32_t, uint32_t, float>(),
                  "Duplicate has no such element type");
    const VectorOp op("Duplicate", site);
    op.out(dst, count);
    for (int32_t at = 0; at < count; ++at) {
        dst.store(op.core, at, scalar);
    }
}

template <typename T>
void Duplicate(const LocalTensor<T> &dst, const T &scalar, uint64_t mask[], const uint8_t repeats,
               const uint16_t block_stride, const uint8_t repeat_stride, Site site = Site::here())
{
    const VectorOp op("Duplicate", site);
    op.repeats(repeats);
    dst.need_aligned(op.core, emulated::BLOCK_BYTES, "Duplicate", site);
    const Lanes lanes = Lanes::these<T>(op, mask);
    for (uint32_t repeat = 0; repeat < repeats; ++repeat) {
        for (uint32_t lane = 0; lane < emulated::REPEAT_BYTES / sizeof(T); ++lane) {
            if (lanes.has(lane)) {
                const uint32_t to = element<T>(repeat, lane, block_stride, repeat_stride);
                dst.need(op.core, uint64_t{to} + 1, site);
                op.touch(dst, to, true);
                dst.store(op.core, to, scalar);
            }
        }
    }
}

template <typename T>
void CreateVecIndex(LocalTensor<T> dst, const T &first, uint32_t count, Site site = Site::here())
{
    static_assert(is_one_of<T, int16_t, half, int32_t, float>(),
                  "CreateVecIndex has no such element type");
    const VectorOp op("CreateVecIndex", site);
    op.out(dst, count);
    for (uint32_t at = 0; at < count; ++at) {
        dst.store(op.core, at, static_cast<T>(first + static_cast<T>(at)));
    }
}

}  // namespace AscendC
