// mask_filter: scores of codes that no legal item continues become -inf; others are normalised.
//
// Each core takes every n-th row, a tile of columns at a time. A row with many children has them as
// a bitmask, by which the vector unit chooses; of one with few each child is copied. Either way the
// columns of a row are read before they are written, so the output may be the input.
#include "legal.h"
#include "requests.h"
#include "scores.h"

namespace xgr {

struct MaskFilterArguments {
    GM_ADDR scores;
    GM_ADDR lse;
    GM_ADDR node;
    GM_ADDR rowStart;
    GM_ADDR live;
    GM_ADDR descriptor;
    GM_ADDR codes;
    GM_ADDR firstChild;
    FilterArguments filters;
    GM_ADDR tiling;
    GM_ADDR out;
    int64_t scoresRow;
    int64_t outRow;
    int64_t nodesHere;
    int64_t nodesAbove;
    int32_t level;
    int32_t normalize;
    int32_t type;
};

class MaskFilter {
public:
    __aicore__ inline explicit MaskFilter(const MaskFilterArguments &arguments)
        : at_(arguments), catalogue_(arguments.descriptor, arguments.codes, arguments.firstChild,
                                     arguments.nodesHere, arguments.nodesAbove, arguments.level)
    {
        const GlobalTensor<int64_t> words = Global<int64_t>(at_.tiling);
        requests_ = words.GetValue(MASK_REQUESTS);
        rows_ = words.GetValue(MASK_ROWS);
        columns_ = words.GetValue(MASK_COLUMNS);
        tile_ = words.GetValue(MASK_TILE);
        dense_ = words.GetValue(MASK_DENSE);
        item_ = at_.type == TYPE_FLOAT ? 4 : 2;
    }

    __aicore__ inline void Process()
    {
        TPipe pipe;
        batch_.Init(pipe, at_.rowStart, at_.live, requests_);
        legal_.Init(pipe);
        const uint32_t bytes = static_cast<uint32_t>(tile_ * sizeof(float));
        pipe.InitBuffer(tileQueue_, 2, static_cast<uint32_t>(tile_ * item_));
        pipe.InitBuffer(outQueue_, 2, bytes);
        pipe.InitBuffer(score_, bytes);
        pipe.InitBuffer(work_, bytes);
        pipe.InitBuffer(nothing_, bytes);
        pipe.InitBuffer(legalBits_, static_cast<uint32_t>(tile_ / 8));
        pipe.InitBuffer(one_, 32);
        Duplicate(nothing_.Get<float>(), -INFINITE, static_cast<int32_t>(tile_));
        Order<HardEvent::V_MTE3>();
        int64_t request = 0;
        for (int64_t row = GetBlockIdx(); row < rows_; row += GetBlockNum()) {
            while (request < requests_ && row >= batch_.Start(request + 1)) {
                request += 1;
            }
            const bool live = request < requests_ && row >= batch_.Start(request) &&
                              row - batch_.Start(request) < batch_.Size(request);
            Filter(row, request, live);
        }
    }

private:
    __aicore__ inline void Filter(int64_t row, int64_t request, bool live)
    {
        low_ = 0;
        count_ = 0;
        if (live && catalogue_.known) {
            const int32_t node =
                at_.level == 0 ? 0 : Global<int32_t>(at_.node).GetValue(row);
            catalogue_.Children(node, low_, count_);
        }
        const bool some = live && (count_ > 0 || !catalogue_.known);
        float norm = 0.0f;
        if (some) {
            norm = Norm(row);
            if (catalogue_.known) {
                legal_.Begin(catalogue_, low_, count_, &at_.filters, request);
            }
        }
        for (int64_t column = 0; column < columns_; column += tile_) {
            const uint32_t width = static_cast<uint32_t>(Smaller(tile_, columns_ - column));
            const bool here =
                some && (!catalogue_.known || legal_.Code() < column + static_cast<int64_t>(width));
            const GlobalTensor<float> out =
                Global<float>(at_.out)[row * at_.outRow + column];
            if (here) {
                Pass(row, column, width, norm, out);
            } else {
                Store(out, nothing_.Get<float>(), width);
            }
        }
    }

    // Writes a tile that has a legal column.
    __aicore__ inline void Pass(int64_t row, int64_t column, uint32_t width, float norm,
                                const GlobalTensor<float> &out)
    {
        const uint32_t length = Take(row, column, width, -norm);
        const LocalTensor<float> score = score_.Get<float>();
        const bool clean = !HasNan(score, work_.Get<int32_t>(), length);
        const LocalTensor<float> tile = outQueue_.AllocTensor<float>();
        if (clean && (count_ >= dense_ || !catalogue_.known)) {
            // a legal score below the least is raised, -inf too
            Maxs(tile, score, LEAST, static_cast<int32_t>(length));
            OrderVector();
            if (catalogue_.known) {
                const LocalTensor<uint32_t> bits = LegalBits(column, width, length);
                Select(tile, bits, tile, -INFINITE, SELMODE::VSEL_TENSOR_SCALAR_MODE, length);
            }
        } else {
            Duplicate(tile, -INFINITE, static_cast<int32_t>(length));
            Order<HardEvent::V_S>();
            CopyLegal(tile, score, column, width);
            Order<HardEvent::S_V>();
        }
        outQueue_.EnQue(tile);
        LocalTensor<float> ready = outQueue_.DeQue<float>();
        Store(out, ready, width);
        outQueue_.FreeTensor(ready);
    }

    __aicore__ inline void CopyLegal(const LocalTensor<float> &to, const LocalTensor<float> &from,
                                     int64_t column, uint32_t width)
    {
        if (!catalogue_.known) {
            for (uint32_t at = 0; at < width; ++at) {
                to.SetValue(at, Raised(from.GetValue(at)));
            }
            return;
        }
        while (legal_.Code() < column + static_cast<int64_t>(width)) {
            const uint32_t at = static_cast<uint32_t>(legal_.Code() - column);
            to.SetValue(at, Raised(from.GetValue(at)));
            legal_.Next();
        }
    }

    // A NaN stays one.
    __aicore__ static inline float Raised(float score)
    {
        return score < LEAST ? LEAST : score;
    }

    // Bits of the legal columns of a tile.
    __aicore__ inline LocalTensor<uint32_t> LegalBits(int64_t column, uint32_t width,
                                                      uint32_t length)
    {
        const LocalTensor<uint32_t> bits = legalBits_.Get<uint32_t>();
        Order<HardEvent::V_S>();
        for (uint32_t word = 0; word < length / 32; ++word) {
            const int64_t first = column + 32 * static_cast<int64_t>(word);
            const int64_t end = Smaller(first + 32, column + static_cast<int64_t>(width));
            uint32_t value = 0;
            while (legal_.Code() < end) {
                value |= static_cast<uint32_t>(1) << (legal_.Code() - first);
                legal_.Next();
            }
            bits.SetValue(word, value);
        }
        if (!XGR_FAULT("bits_not_awaited")) {
            Order<HardEvent::S_V>();
        }
        return bits;
    }

    // What is subtracted from the scores of a row.
    __aicore__ inline float Norm(int64_t row)
    {
        if (at_.normalize == NORMALIZE_NONE) {
            return 0.0f;
        }
        if (at_.normalize == NORMALIZE_GIVEN) {
            return Global<float>(at_.lse).GetValue(row);
        }
        float top = -INFINITE;
        BeginNorm();
        for (int64_t column = 0; column < columns_; column += tile_) {
            const uint32_t length = TakeNormed(row, column, 0.0f);
            if (HasNan(score_.Get<float>(), work_.Get<int32_t>(), length)) {
                return __builtin_nanf("");
            }
            const float here =
                Greatest(score_.Get<float>(), one_.Get<float>(), work_.Get<float>(), length);
            top = here > top ? here : top;
        }
        if (top == -INFINITE || top == INFINITE) {
            return top == INFINITE ? top : 0.0f;
        }
        float total = 0.0f;
        BeginNorm();
        for (int64_t column = 0; column < columns_; column += tile_) {
            total += SumOfExponentials(TakeNormed(row, column, -top));
        }
        return top + Logarithm(total);
    }

    __aicore__ inline void BeginNorm()
    {
        if (at_.normalize == NORMALIZE_CHILDREN && catalogue_.known) {
            legal_.Begin(catalogue_, low_, count_, nullptr, 0);
        }
    }

    // Takes a tile of a row; columns that its norm does not count are -inf.
    __aicore__ inline uint32_t TakeNormed(int64_t row, int64_t column, float shift)
    {
        const uint32_t width = static_cast<uint32_t>(Smaller(tile_, columns_ - column));
        const uint32_t length = Take(row, column, width, shift);
        if (at_.normalize == NORMALIZE_CHILDREN && catalogue_.known) {
            const LocalTensor<float> score = score_.Get<float>();
            Select(score, LegalBits(column, width, length), score, -INFINITE,
                   SELMODE::VSEL_TENSOR_SCALAR_MODE, length);
            OrderVector();
        }
        return length;
    }

    __aicore__ inline float SumOfExponentials(uint32_t length)
    {
        const LocalTensor<float> score = score_.Get<float>();
        const LocalTensor<float> one = one_.Get<float>();
        const int32_t count = static_cast<int32_t>(length);
        // exponentials of less than this are 0, of -inf too
        Maxs(score, score, -200.0f, count);
        OrderVector();
        Exp(score, score, count);
        OrderVector();
        ReduceSum(one, score, work_.Get<float>(), count);
        Order<HardEvent::V_S>();
        const float sum = one.GetValue(0);
        Order<HardEvent::S_V>();
        return sum;
    }

    __aicore__ inline float Logarithm(float value)
    {
        const LocalTensor<float> one = one_.Get<float>();
        Duplicate(one, value, 8);
        OrderVector();
        Ln(one, one, 8);
        Order<HardEvent::V_S>();
        const float log = one.GetValue(0);
        Order<HardEvent::S_V>();
        return log;
    }

    // Takes a tile of scores into score_, each plus `shift`, -inf behind the last; its length, a
    // power of two.
    __aicore__ inline uint32_t Take(int64_t row, int64_t column, uint32_t width, float shift)
    {
        uint32_t length = 64;
        while (length < width) {
            length *= 2;
        }
        const int64_t offset = row * at_.scoresRow + column;
        const LocalTensor<float> score = score_.Get<float>();
        const int32_t count = static_cast<int32_t>(length);
        OrderVector();
        if (at_.type == TYPE_FLOAT) {
            LocalTensor<float> tile = Fetch<float>(offset, width, length, -INFINITE);
            Adds(score, tile, shift, count);
            tileQueue_.FreeTensor(tile);
        } else if (at_.type == TYPE_HALF) {
            LocalTensor<uint16_t> tile = Fetch<uint16_t>(offset, width, length, 0xFC00);
            Cast(score, tile.ReinterpretCast<half>(), RoundMode::CAST_NONE, length);
            tileQueue_.FreeTensor(tile);
            OrderVector();
            Adds(score, score, shift, count);
        } else {
            LocalTensor<uint16_t> tile = Fetch<uint16_t>(offset, width, length, 0xFF80);
            Cast(score, tile.ReinterpretCast<bfloat16_t>(), RoundMode::CAST_NONE, length);
            tileQueue_.FreeTensor(tile);
            OrderVector();
            Adds(score, score, shift, count);
        }
        OrderVector();
        return length;
    }

    template <typename T>
    __aicore__ inline LocalTensor<T> Fetch(int64_t offset, uint32_t width, uint32_t length,
                                           T nothing)
    {
        const LocalTensor<T> tile = tileQueue_.AllocTensor<T>();
        const uint32_t whole = static_cast<uint32_t>(RoundUp(width, 32 / sizeof(T)));
        if (whole < length) {
            Duplicate(tile[whole], nothing, static_cast<int32_t>(length - whole));
        }
        LoadPadded(tile, Global<T>(at_.scores)[offset], width, nothing);
        tileQueue_.EnQue(tile);
        const LocalTensor<T> ready = tileQueue_.DeQue<T>();
        OrderVector();
        return ready;
    }

    const MaskFilterArguments at_;
    const Catalogue catalogue_;
    Requests batch_;
    Legal legal_;
    int64_t requests_, rows_, columns_, tile_, dense_, item_;
    int64_t low_ = 0, count_ = 0;  // children of the row at hand
    TQue<TPosition::VECIN, 2> tileQueue_;
    TQue<TPosition::VECOUT, 2> outQueue_;
    TBuf<TPosition::VECCALC> score_, work_, legalBits_, one_;
    TBuf<TPosition::VECOUT> nothing_;
};

}  // namespace xgr

extern "C" __global__ __aicore__ void xgr_mask_filter(
    GM_ADDR scores, GM_ADDR lse, GM_ADDR node, GM_ADDR row_start, GM_ADDR live, GM_ADDR descriptor,
    GM_ADDR codes, GM_ADDR first_child, GM_ADDR kind, GM_ADDR mask, GM_ADDR list_start,
    GM_ADDR listed, GM_ADDR words, GM_ADDR tiling, GM_ADDR out, int64_t scores_row,
    int64_t out_row, int64_t nodes_here, int64_t nodes_above, int64_t mask_pitch, int32_t level,
    int32_t normalize, int32_t type)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    xgr::MaskFilter kernel({scores, lse, node, row_start, live, descriptor, codes, first_child,
                            {kind, mask, list_start, listed, words, mask_pitch}, tiling, out,
                            scores_row, out_row, nodes_here, nodes_above, level, normalize, type});
    kernel.Process();
}
