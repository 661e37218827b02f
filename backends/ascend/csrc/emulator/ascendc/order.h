// Reductions, and sorting of (score, index) pairs of eight bytes.
#pragma once

#include <algorithm>
#include <numeric>

#include "vector_op.h"

namespace AscendC {

// Elements that a reduction needs to work in, which it leaves undefined.
inline uint32_t reduction_room(uint32_t count, uint32_t bytes)
{
    const uint32_t repeats = (count * bytes + emulated::REPEAT_BYTES - 1) / emulated::REPEAT_BYTES;
    const uint32_t per_block = emulated::BLOCK_BYTES / bytes;
    return (repeats + per_block - 1) / per_block * per_block;
}

template <typename T>
void reduction(const VectorOp &op, const LocalTensor<T> &src, const LocalTensor<T> &work,
               int32_t count)
{
    const uint32_t room = reduction_room(count, sizeof(T));
    op.overlap(work, room, src, count, false);
    op.in(src, count);
    op.out(work, room);
    op.core.undefine(work.offset(), room * sizeof(T));
}

template <typename T>
void ReduceMax(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<T> &work,
               const int32_t count, bool index = false, Site site = Site::here())
{
    static_assert(is_one_of<T, half, float>(), "ReduceMax has no such element type");
    const VectorOp op("ReduceMax", site);
    if (index) {
        op.fail("the index is not emulated");
    }
    T best = src.load(op.core, 0);
    reduction(op, src, work, count);
    for (int32_t at = 0; at < count; ++at) {
        const T value = src.load(op.core, at);
        op.number(value);
        best = std::max(best, value);
    }
    dst.need(op.core, 1, site);
    op.touch(dst, 0, true);
    dst.store(op.core, 0, best);
}

template <typename T>
void ReduceSum(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<T> &work,
               const int32_t count, Site site = Site::here())
{
    static_assert(is_one_of<T, half, float>(), "ReduceSum has no such element type");
    const VectorOp op("ReduceSum", site);
    reduction(op, src, work, count);
    // in pairs, as the device does
    std::vector<T> part(count);
    for (int32_t at = 0; at < count; ++at) {
        part[at] = src.load(op.core, at);
    }
    while (part.size() > 1) {
        for (size_t at = 0; at < part.size() / 2; ++at) {
            part[at] = static_cast<T>(part[2 * at] + part[2 * at + 1]);
        }
        if (part.size() % 2 != 0) {
            part[part.size() / 2] = part.back();
        }
        part.resize((part.size() + 1) / 2);
    }
    dst.need(op.core, 1, site);
    op.touch(dst, 0, true);
    dst.store(op.core, 0, part[0]);
}

struct Pair {
    float score;
    uint32_t index;
};

inline Pair pair_at(const VectorOp &op, const LocalTensor<float> &tensor, uint32_t at)
{
    Pair pair;
    std::memcpy(&pair, &op.core.ub[tensor.offset() + at * 8], sizeof(pair));
    return pair;
}

inline void put_pair(const VectorOp &op, const LocalTensor<float> &tensor, uint32_t at, Pair pair)
{
    std::memcpy(&op.core.ub[tensor.offset() + at * 8], &pair, sizeof(pair));
}

// Each 32 scores in descending order, each with its index; of equal scores the earlier comes first.
template <typename T>
void Sort32(const LocalTensor<T> &dst, const LocalTensor<T> &src0,
            const LocalTensor<uint32_t> &src1, const int32_t repeats, Site site = Site::here())
{
    static_assert(std::is_same<T, float>::value, "only float is emulated");
    const VectorOp op("Sort32", site);
    op.repeats(repeats);
    dst.need_aligned(op.core, 256, "Sort32: the destination", site);
    src0.need_aligned(op.core, 128, "Sort32: the scores", site);
    src1.need_aligned(op.core, 128, "Sort32: the indices", site);
    const uint32_t count = 32 * repeats;
    op.overlap(dst, count * 2, src0, count, false);
    op.overlap(dst, count * 2, src1, count, false);
    op.in(src0, count);
    op.in(src1, count);
    op.out(dst, count * 2);
    for (int32_t repeat = 0; repeat < repeats; ++repeat) {
        std::vector<Pair> pairs;
        for (uint32_t at = repeat * 32; at < repeat * 32u + 32; ++at) {
            const T score = src0.load(op.core, at);
            op.number(score);
            pairs.push_back(Pair{score, src1.load(op.core, at)});
        }
        std::stable_sort(pairs.begin(), pairs.end(),
                         [](const Pair &a, const Pair &b) { return a.score > b.score; });
        for (uint32_t at = 0; at < 32; ++at) {
            put_pair(op, dst, repeat * 32 + at, pairs[at]);
        }
    }
}

template <typename T> struct MrgSortSrcList {
    MrgSortSrcList() = default;

    MrgSortSrcList(const LocalTensor<T> &first, const LocalTensor<T> &second,
                   const LocalTensor<T> &third, const LocalTensor<T> &fourth)
        : src1(first), src2(second), src3(third), src4(fourth)
    {
    }

    LocalTensor<T> src1, src2, src3, src4;
};

// Two to four sorted lists into one; of equal scores those of the earlier list come first.
template <typename T>
void MrgSort(const LocalTensor<T> &dst, const MrgSortSrcList<T> &src, const MrgSort4Info &info,
             Site site = Site::here())
{
    static_assert(std::is_same<T, float>::value, "only float is emulated");
    const VectorOp op("MrgSort", site);
    op.repeats(info.repeatTimes);
    if (info.validBit != 3 && info.validBit != 7 && info.validBit != 15) {
        op.fail("validBit " + std::to_string(info.validBit) + ", allowed: 3, 7, 15");
    }
    if (info.ifExhaustedSuspension) {
        op.fail("suspension is not emulated");
    }
    const int lists = info.validBit == 3 ? 2 : info.validBit == 7 ? 3 : 4;
    const LocalTensor<T> sources[4] = {src.src1, src.src2, src.src3, src.src4};
    uint32_t total = 0;
    for (int list = 0; list < lists; ++list) {
        const uint32_t length = info.elementLengths[list];
        if (length > 4095) {
            op.fail("a list of " + std::to_string(length) + " pairs, at most 4095");
        }
        if (info.repeatTimes > 1 &&
            (lists != 4 || length != info.elementLengths[0] ||
             sources[list].offset() != sources[0].offset() + list * length * 8)) {
            op.fail("repeats need four lists of one length that follow each other");
        }
        sources[list].need_aligned(op.core, 8, "MrgSort: a list", site);
        total += length;
    }
    const uint32_t all = total * info.repeatTimes;
    for (int list = 0; list < lists; ++list) {
        const uint32_t length = info.elementLengths[list];
        const uint32_t span = info.repeatTimes > 1 && list == 0 ? all : length;
        op.overlap(dst, all * 2, sources[list], span * 2, false);
        sources[list].need(op.core, uint64_t{span} * 2, site);
        for (uint32_t at = 0; at < span * 2; ++at) {
            op.touch(sources[list], at, false);
        }
    }
    std::vector<Pair> merged;
    for (uint32_t repeat = 0; repeat < info.repeatTimes; ++repeat) {
        std::vector<Pair> here;
        for (int list = 0; list < lists; ++list) {
            for (uint32_t at = 0; at < info.elementLengths[list]; ++at) {
                const Pair pair = pair_at(op, sources[list], repeat * total + at);
                op.number(pair.score);
                if (at > 0 && pair.score > here.back().score) {
                    op.fail("list " + std::to_string(list) + " is not in descending order");
                }
                here.push_back(pair);
            }
        }
        std::stable_sort(here.begin(), here.end(),
                         [](const Pair &a, const Pair &b) { return a.score > b.score; });
        merged.insert(merged.end(), here.begin(), here.end());
    }
    op.out(dst, all * 2);
    for (uint32_t at = 0; at < all; ++at) {
        put_pair(op, dst, at, merged[at]);
    }
}

}  // namespace AscendC
