// Scores of a tile of a row, each plus the row's own: what candidates are ranked by.
#pragma once

#include "scores.h"

namespace xgr {

class Totals {
public:
    // `tile`: most columns of a tile, a power of two, 64 or more.
    __aicore__ inline void Init(TPipe &pipe, int64_t tile)
    {
        pipe.InitBuffer(queue_, 2, static_cast<uint32_t>(tile * sizeof(float)));
        pipe.InitBuffer(score_, static_cast<uint32_t>(tile * sizeof(float)));
        pipe.InitBuffer(work_, static_cast<uint32_t>(tile * sizeof(float)));
        pipe.InitBuffer(bits_, static_cast<uint32_t>(tile / 8));
        pipe.InitBuffer(one_, 32);
    }

    // Asks for `count` scores; behind the last there is nothing. Two may be asked for at a time.
    __aicore__ inline void Ask(const GlobalTensor<float> &scores, uint32_t count)
    {
        const uint32_t whole = static_cast<uint32_t>(RoundUp(count, 8));
        const LocalTensor<float> tile = queue_.AllocTensor<float>();
        if (whole < LengthOf(count) && !XGR_FAULT("tile_tail_unset")) {
            Duplicate(tile[whole], -INFINITE, static_cast<int32_t>(LengthOf(count) - whole));
        }
        LoadPadded(tile, scores, count, -INFINITE);
        queue_.EnQue(tile);
    }

    // Takes what was asked for first, `count` scores, and adds `base`. Legal ones are LEAST or
    // more. The greatest of them; a NaN or +inf sets `failed`.
    __aicore__ inline float Take(uint32_t count, float base)
    {
        length = LengthOf(count);
        LocalTensor<float> tile = queue_.DeQue<float>();
        const LocalTensor<float> score = score_.Get<float>();
        const LocalTensor<float> work = work_.Get<float>();
        OrderVector();
        // -0 becomes 0, so that equal scores have equal bits
        Adds(score, tile, base + 0.0f, static_cast<int32_t>(length));
        queue_.FreeTensor(tile);
        OrderVector();
        failed = HasNan(score, work.ReinterpretCast<int32_t>(), length);
        if (failed) {
            return INFINITE;
        }
        const float greatest = Greatest(score, one_.Get<float>(), work, length);
        failed = greatest == INFINITE;
        if (greatest == -INFINITE || failed) {
            return greatest;
        }
        ClampLegal(score, bits_.Get<uint8_t>(), length);
        return greatest < LEAST ? LEAST : greatest;
    }

    // Forgets what was asked for first.
    __aicore__ inline void Drop()
    {
        LocalTensor<float> tile = queue_.DeQue<float>();
        queue_.FreeTensor(tile);
    }

    __aicore__ inline LocalTensor<float> Scores()
    {
        return score_.Get<float>();
    }

    // Room for a bit a score, and for a number a score.
    __aicore__ inline LocalTensor<uint8_t> Bits()
    {
        return bits_.Get<uint8_t>();
    }

    __aicore__ inline LocalTensor<int32_t> Numbers()
    {
        return work_.Get<int32_t>();
    }

    uint32_t length = 0;
    bool failed = false;

private:
    // A power of two of numbers that hold `count`.
    __aicore__ static inline uint32_t LengthOf(uint32_t count)
    {
        uint32_t power = 64;
        while (power < count) {
            power *= 2;
        }
        return power;
    }

    TQue<TPosition::VECIN, 2> queue_;
    TBuf<TPosition::VECCALC> score_, work_, bits_, one_;
};

}  // namespace xgr
