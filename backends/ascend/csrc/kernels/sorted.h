// The best scores so far, kept sorted with an index each, and what may still join them.
#pragma once

#include "layout.h"
#include "scores.h"

namespace xgr {

class Sorted {
public:
    // `width` is the most that are ever kept. Buffers that Sort32 uses must begin at multiples of
    // 256 bytes, so these are the first of the kernel.
    __aicore__ inline void Init(TPipe &pipe, int64_t width)
    {
        room_ = width;
        const int64_t other = width > SORT_PAIRS ? width : SORT_PAIRS;
        pipe.InitBuffer(waiting_, SORT_PAIRS * sizeof(float));
        pipe.InitBuffer(index_, SORT_PAIRS * sizeof(float));
        pipe.InitBuffer(pairs_, 2 * SORT_PAIRS * 8);
        pipe.InitBuffer(best_, static_cast<uint32_t>(width * 8));
        pipe.InitBuffer(merged_, static_cast<uint32_t>((width + other) * 8));
        Duplicate(merged_.Get<float>(), 0.0f, static_cast<int32_t>((width + other) * 2));
        OrderVector();
    }

    // Begins with nothing, to keep the best `width`.
    __aicore__ inline void Begin(int64_t width)
    {
        width_ = width;
        count = 0;
        held_ = 0;
        joining_ = 0;
        staged_ = 0;
        threshold = -INFINITE;
    }

    __aicore__ inline bool Full() const
    {
        return count == width_;
    }

    // Indices that go with scores: `value` with each.
    __aicore__ inline void IndexAll(int32_t value)
    {
        Duplicate(index_.Get<int32_t>(), value, SORT_PAIRS);
        OrderVector();
    }

    // Indices that go with scores: `first` and what follows.
    __aicore__ inline void IndexFrom(int32_t first)
    {
        CreateVecIndex(index_.Get<int32_t>(), first, SORT_PAIRS);
        OrderVector();
    }

    // Scores above the threshold join: there is room for `length`.
    __aicore__ inline void Join(const LocalTensor<float> &scores,
                                const LocalTensor<uint8_t> &bits, uint32_t length)
    {
        CompareScalar(bits, scores, threshold, CMPMODE::GT, length);
        OrderVector();
        const LocalTensor<float> waiting = waiting_.Get<float>();
        uint64_t kept = 0;
        GatherMask(waiting[static_cast<uint32_t>(held_)], scores, bits.ReinterpretCast<uint32_t>(),
                   true, length, GatherMaskParams{1, 1, 8, 8}, kept);
        OrderVector();
        const uint32_t odd = static_cast<uint32_t>(kept % 8);
        if (odd != 0 && !XGR_FAULT("tail_not_padded")) {
            // the rest of the last block holds nothing known
            uint64_t mask[2] = {0xFFu & ~((1u << odd) - 1), 0};
            const uint32_t block = static_cast<uint32_t>(held_ + kept - odd);
            Duplicate(waiting[block], -INFINITE, mask, 1, 1, 8);
            OrderVector();
        }
        held_ += RoundUp(static_cast<int64_t>(kept), 8);
        joining_ += static_cast<int64_t>(kept);
    }

    // Whether as many wait as are kept and there is no threshold yet, or no more fit.
    __aicore__ inline bool MustSettle(int64_t length) const
    {
        return held_ + length > SORT_PAIRS || (!Full() && count + joining_ >= width_);
    }

    // Scores in global memory join, at most SORT_PAIRS; nothing else is waiting.
    __aicore__ inline void JoinAll(const GlobalTensor<float> &scores, int64_t length)
    {
        Order<HardEvent::V_MTE2>();
        LoadPadded(waiting_.Get<float>(), scores, static_cast<uint32_t>(length), -INFINITE);
        Order<HardEvent::MTE2_V>();
        held_ = RoundUp(length, 8);
        joining_ = length;
    }

    // Sorts what has joined into the best.
    __aicore__ inline void Settle()
    {
        if (joining_ == 0) {
            held_ = 0;
            return;
        }
        const LocalTensor<float> ordered = SortWaiting();
        if (count == 0) {
            count = Smaller(width_, joining_);
            Keep(ordered);
        } else {
            const LocalTensor<float> lists[4] = {Best(), ordered, ordered, ordered};
            const int64_t lengths[4] = {count, joining_, 0, 0};
            Merge(lists, lengths, 2);
        }
        held_ = 0;
        joining_ = 0;
        if (Full()) {
            Order<HardEvent::V_S>();
            threshold = Score(count - 1);
            Order<HardEvent::S_V>();
        }
    }

    // A sorted list in global memory joins; of equal scores what has joined before comes first.
    // Lists are merged when as many wait as can be merged at once, and by MergeStaged.
    __aicore__ inline void StageList(const GlobalTensor<float> &pairs, int64_t length)
    {
        if (length == 0) {
            return;
        }
        if (staged_ == 0) {
            Order<HardEvent::V_MTE2>();
        }
        Load(Staged(staged_), pairs, static_cast<uint32_t>(2 * length));
        lengths_[staged_] = length;
        staged_ += 1;
        if (staged_ == Ways()) {
            MergeStaged();
        }
    }

    __aicore__ inline void MergeStaged()
    {
        if (staged_ == 0) {
            return;
        }
        if (!XGR_FAULT("lists_not_awaited")) {
            Order<HardEvent::MTE2_V>();
        }
        if (Full()) {
            // what is not above the last of the best cannot join it
            Order<HardEvent::MTE2_S>();
            Order<HardEvent::V_S>();
            const float last = Score(count - 1);
            for (int list = 0; list < staged_; ++list) {
                lengths_[list] = Above(Staged(list), lengths_[list], last);
            }
            Order<HardEvent::S_V>();
        }
        LocalTensor<float> lists[4] = {Best(), Best(), Best(), Best()};
        int64_t lengths[4] = {count, 0, 0, 0};
        int used = count > 0 ? 1 : 0;
        for (int list = 0; list < staged_; ++list) {
            if (lengths_[list] > 0) {
                lists[used] = Staged(list);
                lengths[used] = lengths_[list];
                used += 1;
            }
        }
        staged_ = 0;
        if (used == 1 && count == 0) {
            count = Smaller(width_, lengths[0]);
            Keep(lists[0]);
        } else if (used > 1) {
            Merge(lists, lengths, used);
        }
    }

    // Of the best, by scalar code: between Order<V_S> and Order<S_V>.
    __aicore__ inline float Score(int64_t at) const
    {
        return Best().GetValue(static_cast<uint32_t>(2 * at));
    }

    __aicore__ inline int32_t Index(int64_t at) const
    {
        return Best().template ReinterpretCast<int32_t>().GetValue(
            static_cast<uint32_t>(2 * at + 1));
    }

    __aicore__ inline LocalTensor<float> Best() const
    {
        return best_.Get<float>();
    }

    // Room for whoever needs it while nothing is sorted.
    __aicore__ inline LocalTensor<float> Pairs() const
    {
        return pairs_.Get<float>();
    }

    __aicore__ inline LocalTensor<float> Merged() const
    {
        return merged_.Get<float>();
    }

    int64_t count = 0;
    float threshold = 0;

private:
    __aicore__ inline LocalTensor<float> SortWaiting()
    {
        int64_t length = 32;
        while (length < held_) {
            length *= 4;
        }
        const LocalTensor<float> waiting = waiting_.Get<float>();
        if (length > held_) {
            Duplicate(waiting[static_cast<uint32_t>(held_)], -INFINITE,
                      static_cast<int32_t>(length - held_));
            OrderVector();
        }
        LocalTensor<float> from = pairs_.Get<float>();
        LocalTensor<float> to = from[2 * SORT_PAIRS];
        Sort32(from, waiting, index_.Get<uint32_t>(), static_cast<int32_t>(length / 32));
        for (int64_t run = 32; run < length; run *= 4) {
            if (!XGR_FAULT("no_barrier_between_merges")) {
                OrderVector();
            }
            const uint16_t each = static_cast<uint16_t>(run);
            const uint32_t apart = static_cast<uint32_t>(2 * run);
            MrgSort4Info info;
            for (int list = 0; list < 4; ++list) {
                info.elementLengths[list] = each;
            }
            info.ifExhaustedSuspension = false;
            info.validBit = 15;
            info.repeatTimes = static_cast<uint16_t>(length / (4 * run));
            const MrgSortSrcList<float> lists(from, from[apart], from[2 * apart], from[3 * apart]);
            MrgSort(to, lists, info);
            const LocalTensor<float> swapped = from;
            from = to;
            to = swapped;
        }
        OrderVector();
        return from;
    }

    // Two to four sorted lists into the best, of which they may be one.
    __aicore__ inline void Merge(const LocalTensor<float> (&lists)[4], const int64_t (&lengths)[4],
                                 int used)
    {
        const LocalTensor<float> merged = merged_.Get<float>();
        MrgSort4Info info;
        int64_t total = 0;
        for (int list = 0; list < 4; ++list) {
            info.elementLengths[list] = static_cast<uint16_t>(list < used ? lengths[list] : 0);
            total += info.elementLengths[list];
        }
        info.ifExhaustedSuspension = false;
        info.validBit = static_cast<uint16_t>((1u << used) - 1);
        info.repeatTimes = 1;
        const MrgSortSrcList<float> sources(lists[0], lists[1], lists[2], lists[3]);
        MrgSort(merged, sources, info);
        OrderVector();
        count = Smaller(width_, total);
        Keep(merged);
    }

    // How many pairs of a sorted list are above a score, by scalar code.
    __aicore__ static inline int64_t Above(const LocalTensor<float> &list, int64_t length,
                                           float score)
    {
        int64_t begin = 0;
        while (begin < length) {
            const int64_t middle = begin + (length - begin) / 2;
            if (list.GetValue(static_cast<uint32_t>(2 * middle)) > score) {
                begin = middle + 1;
            } else {
                length = middle;
            }
        }
        return begin;
    }

    // Lists that are merged with the best at once, and the place of each.
    __aicore__ inline int Ways() const
    {
        return room_ * 3 <= SORT_PAIRS ? 3 : (room_ * 2 <= SORT_PAIRS ? 2 : 1);
    }

    __aicore__ inline LocalTensor<float> Staged(int list) const
    {
        return pairs_.Get<float>()[static_cast<uint32_t>(2 * room_ * list)];
    }

    __aicore__ inline void Keep(const LocalTensor<float> &pairs)
    {
        DataCopy(Best(), pairs, static_cast<uint32_t>(RoundUp(2 * count, 8)));
        OrderVector();
    }

    int64_t width_ = 0, held_ = 0, joining_ = 0, room_ = 0;
    int staged_ = 0;
    int64_t lengths_[3] = {0, 0, 0};
    mutable TBuf<TPosition::VECIN> waiting_, pairs_;
    mutable TBuf<TPosition::VECOUT> best_, merged_;
    TBuf<TPosition::VECCALC> index_;
};

}  // namespace xgr
