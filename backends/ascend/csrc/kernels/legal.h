// The children of a row that its request's filters let live, one after the other by ascending code.
#pragma once

#include "catalogue.h"

namespace xgr {

struct FilterArguments {
    GM_ADDR kind;
    GM_ADDR mask;
    GM_ADDR listStart;
    GM_ADDR listed;
    GM_ADDR words;
    int64_t maskPitch;
};

class Legal {
public:
    static constexpr int64_t END = 0x7FFFFFFF;

    __aicore__ inline void Init(TPipe &pipe)
    {
        pipe.InitBuffer(codes_, CHUNK * sizeof(int32_t));
        pipe.InitBuffer(list_, CHUNK * sizeof(int32_t));
        pipe.InitBuffer(words_, (CHUNK / 32 + 1) * sizeof(uint32_t));
    }

    // The children low .. low + count - 1 as `request` may have them; `filters` null for all.
    __aicore__ inline void Begin(const Catalogue &catalogue, int64_t low, int64_t count,
                                 const FilterArguments *filters, int64_t request)
    {
        code_ = catalogue.code;
        low_ = low;
        count_ = count;
        at_ = -1;
        start_ = 0;
        held_ = 0;
        rule_ = KEEP_ALL;
        slot_ = -1;
        if (filters != nullptr && filters->kind != nullptr) {
            UseFilters(catalogue, *filters, request);
        }
        Next();
    }

    // Code of the child at hand, END behind the last one.
    __aicore__ inline int64_t Code() const
    {
        return codeHere_;
    }

    __aicore__ inline void Next()
    {
        codeHere_ = END;
        for (at_ += 1; at_ < count_; ++at_) {
            if (at_ >= start_ + held_) {
                LoadChunk();
            }
            if (Lives(low_ + at_)) {
                codeHere_ = codes_.Get<int32_t>().GetValue(static_cast<uint32_t>(at_ - start_));
                return;
            }
        }
    }

private:
    enum Rule : int { KEEP_ALL, EXCLUDE, ALLOW };

    __aicore__ inline void UseFilters(const Catalogue &catalogue, const FilterArguments &filters,
                                      int64_t request)
    {
        rule_ = Global<int32_t>(filters.kind).GetValue(request);
        slot_ = Global<int32_t>(filters.mask).GetValue(request);
        GM_ADDR words = catalogue.maskWords != nullptr ? catalogue.maskWords : filters.words;
        const int64_t pitch =
            catalogue.maskWords != nullptr ? catalogue.maskPitch : filters.maskPitch;
        if (slot_ >= 0) {
            mask_ = Global<uint32_t>(words + slot_ * pitch * sizeof(uint32_t));
        }
        listAt_ = 0;
        listEnd_ = 0;
        listStart_ = 0;
        listHeld_ = 0;
        if (rule_ != KEEP_ALL) {
            listed_ = Global<int32_t>(filters.listed);
            const GlobalTensor<int32_t> starts = Global<int32_t>(filters.listStart);
            const int64_t end = starts.GetValue(request + 1);
            listAt_ = LowerBound(starts.GetValue(request), end, low_);
            listEnd_ = LowerBound(listAt_, end, low_ + count_);
            listStart_ = listAt_;
        }
    }

    // First place of the list that is not below a node.
    __aicore__ inline int64_t LowerBound(int64_t begin, int64_t end, int64_t node) const
    {
        while (begin < end) {
            const int64_t middle = begin + (end - begin) / 2;
            if (listed_.GetValue(middle) < node) {
                begin = middle + 1;
            } else {
                end = middle;
            }
        }
        return begin;
    }

    __aicore__ inline void LoadChunk()
    {
        start_ = at_;
        held_ = Smaller(CHUNK, count_ - start_);
        Order<HardEvent::S_MTE2>();
        Load(codes_.Get<int32_t>(), code_[low_ + start_], static_cast<uint32_t>(held_));
        if (slot_ >= 0) {
            firstWord_ = (low_ + start_) >> 5;
            const int64_t lastWord = (low_ + start_ + held_ - 1) >> 5;
            Load(words_.Get<uint32_t>(), mask_[firstWord_],
                 static_cast<uint32_t>(lastWord - firstWord_ + 1));
        }
        Order<HardEvent::MTE2_S>();
    }

    __aicore__ inline bool Lives(int64_t child)
    {
        if (rule_ != KEEP_ALL && Named(child) != (rule_ == ALLOW)) {
            return false;
        }
        if (slot_ < 0) {
            return true;
        }
        const uint32_t word =
            words_.Get<uint32_t>().GetValue(static_cast<uint32_t>((child >> 5) - firstWord_));
        return ((word >> (child & 31)) & 1) != 0;
    }

    // Whether a node is on the list; nodes come in ascending order.
    __aicore__ inline bool Named(int64_t child)
    {
        const LocalTensor<int32_t> list = list_.Get<int32_t>();
        while (listAt_ < listEnd_) {
            if (listAt_ >= listStart_ + listHeld_) {
                listStart_ = listAt_;
                listHeld_ = Smaller(CHUNK, listEnd_ - listAt_);
                Order<HardEvent::S_MTE2>();
                Load(list, listed_[listStart_], static_cast<uint32_t>(listHeld_));
                Order<HardEvent::MTE2_S>();
            }
            const int64_t node = list.GetValue(static_cast<uint32_t>(listAt_ - listStart_));
            if (node >= child) {
                return node == child;
            }
            listAt_ += 1;
        }
        return false;
    }

    mutable TBuf<TPosition::VECIN> codes_, list_, words_;
    GlobalTensor<int32_t> code_, listed_;
    GlobalTensor<uint32_t> mask_;
    int64_t low_ = 0, count_ = 0, at_ = 0, start_ = 0, held_ = 0, codeHere_ = END;
    int64_t rule_ = KEEP_ALL, slot_ = -1, firstWord_ = 0;
    int64_t listAt_ = 0, listEnd_ = 0, listStart_ = 0, listHeld_ = 0;
};

}  // namespace xgr
