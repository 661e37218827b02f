// Survivors on their way out: parent row, code, score and node of each, in columns.
#pragma once

#include "layout.h"
#include "scores.h"

namespace xgr {

class Survivors {
public:
    enum Column : int { PARENT, CODE, SCORE, NODE, COLUMNS };

    // Where the columns lie; that of nodes may be nowhere.
    struct Place {
        GM_ADDR column[COLUMNS];

        __aicore__ inline bool Has(int which) const
        {
            return column[which] != nullptr;
        }

        __aicore__ inline GlobalTensor<int32_t> At(int which, int64_t row) const
        {
            return Global<int32_t>(column[which])[row];
        }
    };

    __aicore__ inline void Init(TPipe &pipe)
    {
        pipe.InitBuffer(held_, COLUMNS * HELD_SURVIVORS * sizeof(int32_t));
    }

    // What is held from now on goes to a place, from a row on.
    __aicore__ inline void Begin(const Place &place, int64_t row)
    {
        place_ = place;
        row_ = row;
        count_ = 0;
    }

    __aicore__ inline void Hold(int64_t parent, int32_t code, float score, int64_t node)
    {
        if (count_ == HELD_SURVIVORS) {
            Flush();
        }
        const uint32_t at = static_cast<uint32_t>(count_);
        Held(PARENT).SetValue(at, static_cast<int32_t>(parent));
        Held(CODE).SetValue(at, code);
        Held(SCORE).ReinterpretCast<float>().SetValue(at, score);
        Held(NODE).SetValue(at, static_cast<int32_t>(node));
        count_ += 1;
    }

    __aicore__ inline void Flush()
    {
        if (count_ == 0) {
            return;
        }
        Order<HardEvent::S_MTE3>();
        Write(place_, row_, count_);
        Order<HardEvent::MTE3_S>();
        row_ += count_;
        count_ = 0;
    }

    // Rows begin .. end - 1 of a place become dead: no score, no node, code 0.
    __aicore__ inline void Fill(const Place &place, int64_t begin, int64_t end, int32_t parent)
    {
        if (begin >= end) {
            return;
        }
        const int32_t all = HELD_SURVIVORS;
        Order<HardEvent::V_S>();
        Order<HardEvent::S_V>();
        Duplicate(Held(PARENT), parent, all);
        Duplicate(Held(CODE), 0, all);
        Duplicate(Held(SCORE).ReinterpretCast<float>(), -INFINITE, all);
        Duplicate(Held(NODE), -1, all);
        Order<HardEvent::V_MTE3>();
        for (int64_t at = begin; at < end; at += HELD_SURVIVORS) {
            Write(place, at, Smaller(HELD_SURVIVORS, end - at));
        }
        Order<HardEvent::MTE3_S>();
    }

private:
    __aicore__ inline LocalTensor<int32_t> Held(int column)
    {
        return held_.Get<int32_t>()[static_cast<uint32_t>(column * HELD_SURVIVORS)];
    }

    __aicore__ inline void Write(const Place &place, int64_t row, int64_t count)
    {
        for (int column = 0; column < COLUMNS; ++column) {
            if (place.Has(column)) {
                Store(place.At(column, row), Held(column), static_cast<uint32_t>(count));
            }
        }
    }

    Place place_;
    int64_t row_ = 0, count_ = 0;
    TBuf<TPosition::VECOUT> held_;
};

}  // namespace xgr
