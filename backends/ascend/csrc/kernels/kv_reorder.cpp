// kv_reorder: unshared K and V of all layers follow their beams, in place, in one launch.
//
// A unit is a piece of all rows of one request in one layer of one cache; units have no byte in
// common, so no core waits for another. Rows of a unit go through the unified buffer: all that fit
// are loaded before any is stored. Where a request has more, they go block by block, rows whose
// parent lies behind them first and ascending, then rows whose parent lies before them descending:
// since parents ascend, no row is read after it was written.
#include "layout.h"
#include "pipes.h"

namespace xgr {

using namespace AscendC;

struct CacheStrides {
    int64_t layer, row, slot, head;  // in elements
};

class KvReorder {
public:
    __aicore__ inline KvReorder(GM_ADDR k, GM_ADDR v, const CacheStrides &kStrides,
                                const CacheStrides &vStrides, GM_ADDR parent, GM_ADDR rowStart,
                                GM_ADDR live, GM_ADDR status, GM_ADDR tiling, int32_t step)
        : step_(step)
    {
        cache_[0] = k;
        cache_[1] = v;
        strides_[0] = kStrides;
        strides_[1] = vStrides;
        parent_ = Global<int32_t>(parent);
        rowStart_ = Global<int32_t>(rowStart);
        live_ = Global<int32_t>(live);
        status_ = Global<int32_t>(status);
        const GlobalTensor<int64_t> words = Global<int64_t>(tiling);
        requests_ = words.GetValue(KV_REQUESTS);
        layers_ = words.GetValue(KV_LAYERS);
        groups_ = words.GetValue(KV_GROUPS);
        headBytes_ = words.GetValue(KV_HEAD_BYTES);
        item_ = words.GetValue(KV_ITEM);
        piece_ = words.GetValue(KV_PIECE);
        blockRows_ = words.GetValue(KV_ROWS);
        const int64_t head = headBytes_ / item_;
        dense_ = true;
        for (int cache = 0; cache < 2; ++cache) {
            dense_ = dense_ && strides_[cache].head == head;
            dense_ = dense_ && strides_[cache].slot == head * groups_;
        }
        rowBytes_ = dense_ ? step_ * groups_ * headBytes_ : headBytes_;
        outer_ = dense_ ? 1 : step_ * groups_;
        pieces_ = RoundUp(rowBytes_, piece_) / piece_;
        // with nothing to move the parents are checked all the same
        units_ = step_ > 0 ? 2 * layers_ * outer_ * pieces_ : 1;
    }

    __aicore__ inline void Process()
    {
        TPipe pipe;
        pipe.InitBuffer(parents_, static_cast<uint32_t>(blockRows_ * sizeof(int32_t)));
        pipe.InitBuffer(word_, 32);
        const int64_t side = blockRows_ * RoundUp(piece_, 32);
        pipe.InitBuffer(rows_[0], static_cast<uint32_t>(side));
        pipe.InitBuffer(rows_[1], static_cast<uint32_t>(side));
        for (int side = 0; side < 2; ++side) {
            loaded_[side] = pipe.AllocEventID<HardEvent::MTE2_MTE3>();
            stored_[side] = pipe.AllocEventID<HardEvent::MTE3_MTE2>();
        }

        const int64_t all = units_ * requests_;
        const int64_t begin = all * GetBlockIdx() / GetBlockNum();
        const int64_t end = all * (GetBlockIdx() + 1) / GetBlockNum();
        int64_t request = -1;
        bool sound = false;
        for (int64_t unit = begin; unit < end; ++unit) {
            if (unit / units_ != request) {
                request = unit / units_;
                sound = Look(request);
                if (!sound && unit % units_ == 0) {
                    Complain(request);
                }
            }
            if (sound && step_ > 0 && count_ > 0) {
                Move(unit % units_);
            }
        }
        for (int side = 0; side < 2; ++side) {
            Settle(side);
            pipe.ReleaseEventID<HardEvent::MTE2_MTE3>(loaded_[side]);
            pipe.ReleaseEventID<HardEvent::MTE3_MTE2>(stored_[side]);
        }
    }

private:
    // Reads a request's rows; whether its parents ascend and are its own.
    __aicore__ inline bool Look(int64_t request)
    {
        first_ = rowStart_.GetValue(request);
        end_ = rowStart_.GetValue(request + 1);
        count_ = live_.GetValue(request);
        parentsOf_ = -1;
        int32_t before = static_cast<int32_t>(first_);
        for (int64_t start = 0; start < count_; start += blockRows_) {
            const int64_t rows = Parents(start);
            const LocalTensor<int32_t> parents = parents_.Get<int32_t>();
            for (int64_t at = 0; at < rows; ++at) {
                const int32_t source = parents.GetValue(static_cast<uint32_t>(at));
                if (source < before || source >= end_) {
                    return false;
                }
                before = source;
            }
        }
        return true;
    }

    // Parents of a block of rows into the unified buffer; how many there are.
    __aicore__ inline int64_t Parents(int64_t start)
    {
        const int64_t rows = Smaller(blockRows_, count_ - start);
        if (parentsOf_ != start) {
            if (!XGR_FAULT("parents_overwritten")) {
                Order<HardEvent::S_MTE2>();
            }
            Load(parents_.Get<int32_t>(), parent_[first_ + start], static_cast<uint32_t>(rows));
            if (!XGR_FAULT("parents_not_awaited")) {
                Order<HardEvent::MTE2_S>();
            }
            parentsOf_ = start;
        }
        return rows;
    }

    __aicore__ inline void Complain(int64_t request)
    {
        const LocalTensor<int32_t> word = word_.Get<int32_t>();
        Order<HardEvent::MTE3_S>();
        word.SetValue(0, status_.GetValue(request) | BAD_PARENT);
        Order<HardEvent::S_MTE3>();
        Store(status_[request], word, 1);
    }

    __aicore__ inline void Move(int64_t unit)
    {
        const int64_t piece = unit % pieces_;
        const int64_t outer = unit / pieces_ % outer_;
        const int64_t layer = unit / pieces_ / outer_ % layers_;
        const int cache = static_cast<int>(unit / pieces_ / outer_ / layers_);
        const CacheStrides &by = strides_[cache];
        const int64_t offset =
            layer * by.layer + outer / groups_ * by.slot + outer % groups_ * by.head;
        base_ = cache_[cache] + offset * item_ + piece * piece_;
        stride_ = by.row * item_;
        bytes_ = static_cast<uint32_t>(Smaller(piece_, rowBytes_ - piece * piece_));
        const int64_t blocks = RoundUp(count_, blockRows_) / blockRows_;
        if (blocks == 1 || XGR_FAULT("rows_in_one_pass")) {
            for (int64_t block = 0; block < blocks; ++block) {
                MoveBlock(block * blockRows_, true, true);
            }
            return;
        }
        for (int64_t block = 0; block < blocks; ++block) {
            MoveBlock(block * blockRows_, true, false);
        }
        for (int64_t block = blocks - 1; block >= 0; --block) {
            MoveBlock(block * blockRows_, false, true);
        }
    }

    // Rows of a block whose parent lies behind them, before them, or either.
    __aicore__ inline void MoveBlock(int64_t start, bool behind, bool before)
    {
        const int64_t rows = Parents(start);
        const LocalTensor<int32_t> parents = parents_.Get<int32_t>();
        const int side = turn_;
        turn_ = 1 - turn_;
        const LocalTensor<uint16_t> held = rows_[side].Get<uint16_t>();
        const uint32_t pitch = static_cast<uint32_t>(RoundUp(bytes_, 32) / sizeof(uint16_t));
        Settle(side);
        uint32_t moved = 0;
        for (int64_t at = 0; at < rows; ++at) {
            const int64_t row = first_ + start + at;
            const int64_t source = parents.GetValue(static_cast<uint32_t>(at));
            if ((source > row && behind) || (source < row && before)) {
                Load(held[moved * pitch], Row(source), bytes_ / 2);
                moved += 1;
            }
        }
        if (!XGR_FAULT("store_before_load")) {
            const TEventID loaded = XGR_FAULT("one_flag_for_two_sides") ? loaded_[0] : loaded_[side];
            SetFlag<HardEvent::MTE2_MTE3>(loaded);
            WaitFlag<HardEvent::MTE2_MTE3>(loaded);
        }
        moved = 0;
        for (int64_t at = 0; at < rows; ++at) {
            const int64_t row = first_ + start + at;
            const int64_t source = parents.GetValue(static_cast<uint32_t>(at));
            if ((source > row && behind) || (source < row && before)) {
                Store(Row(row), held[moved * pitch], bytes_ / 2);
                moved += 1;
            }
        }
        SetFlag<HardEvent::MTE3_MTE2>(stored_[side]);
        busy_[side] = true;
    }

    // Waits until what one side of the buffer holds has been stored.
    __aicore__ inline void Settle(int side)
    {
        if (busy_[side] && !XGR_FAULT("half_reused_early")) {
            WaitFlag<HardEvent::MTE3_MTE2>(stored_[side]);
            busy_[side] = false;
        }
    }

    __aicore__ inline GlobalTensor<uint16_t> Row(int64_t row) const
    {
        return Global<uint16_t>(base_ + row * stride_);
    }

    GM_ADDR cache_[2];
    CacheStrides strides_[2];
    GlobalTensor<int32_t> parent_, rowStart_, live_, status_;
    int64_t step_, requests_, layers_, groups_, headBytes_, item_, piece_, blockRows_;
    int64_t rowBytes_, outer_, pieces_, units_;
    bool dense_;
    // the request at hand, and its rows whose parents are loaded
    int64_t first_ = 0, end_ = 0, count_ = 0, parentsOf_ = -1;
    // the unit at hand
    GM_ADDR base_ = nullptr;
    int64_t stride_ = 0;
    uint32_t bytes_ = 0;
    int turn_ = 0;
    bool busy_[2] = {false, false};
    TEventID loaded_[2], stored_[2];  // flags of the sides
    TBuf<TPosition::VECIN> parents_, rows_[2];
    TBuf<TPosition::VECOUT> word_;
};

}  // namespace xgr

extern "C" __global__ __aicore__ void xgr_kv_reorder(
    GM_ADDR k, GM_ADDR v, GM_ADDR parent, GM_ADDR row_start, GM_ADDR live, GM_ADDR status,
    GM_ADDR tiling, int64_t k_layer, int64_t k_row, int64_t k_slot, int64_t k_head,
    int64_t v_layer, int64_t v_row, int64_t v_slot, int64_t v_head, int32_t step)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    xgr::KvReorder kernel(k, v, {k_layer, k_row, k_slot, k_head}, {v_layer, v_row, v_slot, v_head},
                          parent, row_start, live, status, tiling, step);
    kernel.Process();
}
