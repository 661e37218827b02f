// A level of the catalogue: the arrays as they are given, or the descriptor that holds their
// addresses, so that a launch that was recorded follows the descriptor to another catalogue.
#pragma once

#include "layout.h"
#include "pipes.h"

namespace xgr {

using namespace AscendC;

// Words of a level in the descriptor.
constexpr int FIELDS = 5;
enum Field : int { FIELD_CODE, FIELD_NODES, FIELD_FIRST_CHILD, FIELD_WORDS, FIELD_MASK_PITCH };

class Catalogue {
public:
    __aicore__ inline Catalogue(GM_ADDR descriptor, GM_ADDR codes, GM_ADDR firstChild,
                                int64_t nodesHere, int64_t nodesAbove, int32_t level)
        : known(descriptor != nullptr || codes != nullptr), root_(level == 0),
          nodesHere_(nodesHere), nodesAbove_(nodesAbove)
    {
        if (descriptor != nullptr) {
            const GlobalTensor<int64_t> words = Global<int64_t>(descriptor);
            const int64_t here = static_cast<int64_t>(level) * FIELDS;
            codes = Address(words, here + FIELD_CODE);
            nodesHere_ = words.GetValue(here + FIELD_NODES);
            maskWords = Address(words, here + FIELD_WORDS);
            maskPitch = words.GetValue(here + FIELD_MASK_PITCH);
            if (!root_) {
                firstChild = Address(words, here - FIELDS + FIELD_FIRST_CHILD);
                nodesAbove_ = words.GetValue(here - FIELDS + FIELD_NODES);
            }
        }
        code = Global<int32_t>(codes);
        firstChild_ = Global<int32_t>(firstChild);
    }

    // First child of a node and how many there are: none of a node that is not.
    __aicore__ inline void Children(int32_t node, int64_t &low, int64_t &count) const
    {
        low = 0;
        count = 0;
        if (root_) {
            count = nodesHere_;
        } else if (node >= 0 && node < nodesAbove_) {
            low = firstChild_.GetValue(node);
            count = firstChild_.GetValue(node + 1) - low;
        }
    }

    const bool known;
    GlobalTensor<int32_t> code;
    GM_ADDR maskWords = nullptr;
    int64_t maskPitch = 0;

private:
    __aicore__ static inline GM_ADDR Address(const GlobalTensor<int64_t> &words, int64_t at)
    {
        return reinterpret_cast<GM_ADDR>(words.GetValue(at));
    }

    const bool root_;
    int64_t nodesHere_, nodesAbove_;
    GlobalTensor<int32_t> firstChild_;
};

// Codes of a node's children in the unified buffer, a chunk at a time, asked for in ascending order.
class ChildCodes {
public:
    __aicore__ inline void Init(TPipe &pipe)
    {
        pipe.InitBuffer(chunk_, CHUNK * sizeof(int32_t));
    }

    __aicore__ inline void Begin(const GlobalTensor<int32_t> &code, int64_t low, int64_t count)
    {
        code_ = code;
        low_ = low;
        count_ = count;
        start_ = 0;
        held_ = 0;
    }

    // The first child whose code is not below `code`; codes of later calls are not below this one.
    __aicore__ inline int64_t Find(int32_t code)
    {
        const LocalTensor<int32_t> chunk = chunk_.Get<int32_t>();
        while (start_ + held_ < count_ &&
               (held_ == 0 || chunk.GetValue(static_cast<uint32_t>(held_ - 1)) < code)) {
            start_ += held_;
            held_ = Smaller(CHUNK, count_ - start_);
            Order<HardEvent::S_MTE2>();
            Load(chunk, code_[low_ + start_], static_cast<uint32_t>(held_));
            Order<HardEvent::MTE2_S>();
        }
        int64_t at = 0;
        int64_t length = held_;
        while (length > 0) {
            const int64_t half = length / 2;
            if (chunk.GetValue(static_cast<uint32_t>(at + half)) < code) {
                at += half + 1;
                length -= half + 1;
            } else {
                length = half;
            }
        }
        return low_ + start_ + at;
    }

private:
    TBuf<TPosition::VECIN> chunk_;
    GlobalTensor<int32_t> code_;
    int64_t low_ = 0, count_ = 0, start_ = 0, held_ = 0;
};

}  // namespace xgr
