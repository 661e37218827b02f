// beam_topk: the best out_width[b] continuations of each request, in rank or path order.
//
// A unit is a tile of a row; units in the order of rows and columns are in path order, and each core
// takes a run of them.
//
// PHASE_SCAN: each core keeps the best scores of its run for each request, sorted, with the last of
// them as threshold: a tile whose greatest score is not above it is skipped, and of other tiles only
// scores above it are ever sorted. The lists go to the workspace.
// PHASE_EMIT: each core merges the lists of a request, in the order of cores. The last score kept is
// the request's threshold, and the entries of each core say how many survivors it has, and where
// they go. It then visits only the tiles that hold one, and writes its survivors, which are in path
// order as they stand.
// PHASE_RANK, for rank order: one core sorts the survivors of a request.
//
// Phases are launches of their own. Meeting inside a launch would do, but kernels that meet and run
// on two streams at a time can wait for each other's cores for ever.
//
// Equal scores: of a sorted list the earlier entry comes first, as Sort32 and MrgSort state, and
// entries come in path order.
#include "catalogue.h"
#include "requests.h"
#include "sorted.h"
#include "survivors.h"
#include "totals.h"

namespace xgr {

struct BeamTopkArguments {
    GM_ADDR scores;
    GM_ADDR cumulative;
    GM_ADDR rowStart;
    GM_ADDR live;
    GM_ADDR rowStartOut;
    GM_ADDR outWidth;
    GM_ADDR node;
    GM_ADDR descriptor;
    GM_ADDR codes;
    GM_ADDR firstChild;
    GM_ADDR tiling;
    GM_ADDR workspace;
    GM_ADDR parent;
    GM_ADDR code;
    GM_ADDR nodeOut;
    GM_ADDR score;
    GM_ADDR liveOut;
    GM_ADDR status;
    int64_t scoresRow, nodesHere, nodesAbove;
    int32_t level, ranked, phase;
};

class BeamTopk {
public:
    __aicore__ inline explicit BeamTopk(const BeamTopkArguments &arguments)
        : at_(arguments), catalogue_(arguments.descriptor, arguments.codes, arguments.firstChild,
                                     arguments.nodesHere, arguments.nodesAbove, arguments.level)
    {
        const GlobalTensor<int64_t> words = Global<int64_t>(at_.tiling);
        requests_ = words.GetValue(TOPK_REQUESTS);
        columns_ = words.GetValue(TOPK_COLUMNS);
        outRows_ = words.GetValue(TOPK_OUT_ROWS);
        tile_ = words.GetValue(TOPK_TILE);
        width_ = words.GetValue(TOPK_WIDTH);
        tiles_ = RoundUp(columns_, tile_) / tile_;
        listBytes_ = LIST_HEADER + 8 * width_;
        cumulative_ = Global<float>(at_.cumulative);
        node_ = Global<int32_t>(at_.node);
        // rows of survivors that are still to be ranked
        maximaAt_ = at_.workspace + (GetBlockNum() + requests_) * listBytes_;
        GM_ADDR ranking = maximaAt_ + GetBlockNum() * SEEN_TILES * sizeof(float);
        const int64_t apart = RoundUp(outRows_, 8) * sizeof(int32_t);
        out_ = {at_.parent, at_.code, at_.score, at_.nodeOut};
        found_ = out_;
        if (at_.ranked != 0) {
            found_ = {ranking, ranking + apart, ranking + 2 * apart, ranking + 3 * apart};
        }
    }

    __aicore__ inline void Process()
    {
        TPipe pipe;
        InitBuffers(pipe);
        Divide();
        if (at_.phase == PHASE_SCAN) {
            ScanAll();
        } else if (at_.phase == PHASE_EMIT) {
            EmitAll();
        } else {
            for (int64_t request = GetBlockIdx(); request < requests_; request += GetBlockNum()) {
                Rank(request);
            }
        }
    }

private:
    enum Entry : int { ENTRY_COUNT, ENTRY_FAILED, ENTRY_TILES, ENTRY_SKIPPED };

    __aicore__ inline void InitBuffers(TPipe &pipe)
    {
        sorted_.Init(pipe, width_);  // first, for its alignment
        inputs_.Init(pipe, at_.rowStart, at_.live, requests_);
        outputs_.Init(pipe, at_.rowStartOut, at_.outWidth, requests_);
        children_.Init(pipe);
        totals_.Init(pipe, tile_);
        survivors_.Init(pipe);
        pipe.InitBuffer(maxima_, SEEN_TILES * sizeof(float));
        pipe.InitBuffer(header_, 2 * LIST_HEADER);
        pipe.InitBuffer(headers_, static_cast<uint32_t>(GetBlockNum() * LIST_HEADER));
    }

    __aicore__ inline void Divide()
    {
        int64_t rows = 0;
        for (int64_t request = 0; request < requests_; ++request) {
            rows += inputs_.Size(request);
        }
        units_ = rows * tiles_;
        cores_ = Smaller(GetBlockNum(), units_);
        begin_ = GetBlockIdx() < cores_ ? units_ * GetBlockIdx() / cores_ : 0;
        end_ = GetBlockIdx() < cores_ ? units_ * (GetBlockIdx() + 1) / cores_ : 0;
    }

    __aicore__ inline int64_t CoreOf(int64_t unit) const
    {
        return RoundUp((unit + 1) * cores_, units_) / units_ - 1;
    }

    // A turn is a request, and the units of it that are this core's.
    __aicore__ inline void BeginTurns()
    {
        turn_ = -1;
        requestEnd_ = 0;
    }

    __aicore__ inline bool NextTurn()
    {
        for (turn_ += 1; turn_ < requests_ && requestEnd_ < end_; ++turn_) {
            requestBegin_ = requestEnd_;
            requestEnd_ += inputs_.Size(turn_) * tiles_;
            turnBegin_ = requestBegin_ > begin_ ? requestBegin_ : begin_;
            turnEnd_ = Smaller(requestEnd_, end_);
            if (turnBegin_ < turnEnd_) {
                return true;
            }
        }
        return false;
    }

    // The units of a request, whoever has them.
    __aicore__ inline void Find(int64_t request)
    {
        requestBegin_ = 0;
        for (int64_t before = 0; before < request; ++before) {
            requestBegin_ += inputs_.Size(before) * tiles_;
        }
        requestEnd_ = requestBegin_ + inputs_.Size(request) * tiles_;
    }

    __aicore__ inline int64_t Rows(int64_t request) const
    {
        const int64_t width = Smaller(outputs_.Size(request), outputs_.Rows(request));
        return width < 0 ? 0 : width;
    }

    // How many survivors a request may have; none where they are more than a core can hold.
    __aicore__ inline int64_t Width(int64_t request) const
    {
        return Rows(request) > width_ ? 0 : Rows(request);
    }

    __aicore__ inline void ScanAll()
    {
        // tiles behind a NaN are never seen
        if (!XGR_FAULT("maxima_unset")) {
            Duplicate(maxima_.Get<float>(), -INFINITE, SEEN_TILES);
            Order<HardEvent::V_S>();
        }
        BeginTurns();
        while (NextTurn()) {
            Scan(turn_, turnBegin_, turnEnd_);
            Hand(turn_);
        }
        if (Seen() > 0) {
            Order<HardEvent::MTE3_S>();
            Order<HardEvent::S_MTE3>();
            Store(Maxima(), maxima_.Get<float>(), static_cast<uint32_t>(Seen()));
        }
    }

    __aicore__ inline void EmitAll()
    {
        if (Seen() > 0) {
            Load(maxima_.Get<float>(), Maxima(), static_cast<uint32_t>(Seen()));
            Order<HardEvent::MTE2_S>();
        }
        BeginTurns();
        while (NextTurn()) {
            Emit(turn_, turnBegin_, turnEnd_);
        }
        for (int64_t request = GetBlockIdx(); request < requests_; request += GetBlockNum()) {
            Close(request);
        }
        if (GetBlockIdx() == GetBlockNum() - 1) {
            survivors_.Fill(out_, 0, outputs_.Start(0), 0);
            survivors_.Fill(out_, outputs_.Start(requests_), outRows_, 0);
        }
    }

    // Tiles of this core whose greatest scores are kept between the phases, and where.
    __aicore__ inline int64_t Seen() const
    {
        return Smaller(end_ - begin_, SEEN_TILES);
    }

    __aicore__ inline GlobalTensor<float> Maxima() const
    {
        return Global<float>(maximaAt_ + GetBlockIdx() * SEEN_TILES * sizeof(float));
    }

    // Asks for the scores of a unit.
    __aicore__ inline void Ask(int64_t request, int64_t unit)
    {
        Locate(request, unit);
        totals_.Ask(Global<float>(at_.scores)[row_ * at_.scoresRow + column_], columnsHere_);
    }

    // Takes the scores that were asked for; the greatest of them.
    __aicore__ inline float Take(int64_t request, int64_t unit)
    {
        Locate(request, unit);
        return totals_.Take(columnsHere_, cumulative_.GetValue(row_));
    }

    __aicore__ inline void Locate(int64_t request, int64_t unit)
    {
        const int64_t inside = unit - requestBegin_;
        row_ = inputs_.Start(request) + inside / tiles_;
        column_ = inside % tiles_ * tile_;
        columnsHere_ = static_cast<uint32_t>(Smaller(tile_, columns_ - column_));
    }

    // Keeps the best scores of this core's units of a request.
    __aicore__ inline void Scan(int64_t request, int64_t begin, int64_t end)
    {
        const int64_t width = Width(request);
        sorted_.Begin(width);
        sorted_.IndexAll(static_cast<int32_t>(GetBlockIdx()));
        skipped_ = 0;
        failed_ = false;
        Ask(request, begin);
        for (int64_t unit = begin; unit < end; ++unit) {
            if (unit + 1 < end) {
                Ask(request, unit + 1);
            }
            const float greatest = Take(request, unit);
            if (totals_.failed) {
                failed_ = true;
                if (unit + 1 < end) {
                    totals_.Drop();
                }
                break;
            }
            if (unit - begin_ < SEEN_TILES) {
                maxima_.Get<float>().SetValue(static_cast<uint32_t>(unit - begin_), greatest);
            }
            if (width == 0 || greatest == -INFINITE) {
                continue;
            }
            if (sorted_.MustSettle(totals_.length)) {
                sorted_.Settle();
            }
            if (sorted_.Full() && greatest <= sorted_.threshold) {
                skipped_ += 1;
                continue;
            }
            sorted_.Join(totals_.Scores(), totals_.Bits(), totals_.length);
        }
        tilesSeen_ = end - begin;
        if (width > 0 && !failed_) {
            sorted_.Settle();
        }
    }

    __aicore__ inline GM_ADDR List(int64_t core, int64_t request) const
    {
        // cores and requests both ascend along the units, so no two pairs have one sum
        return at_.workspace + (core + request) * listBytes_;
    }

    // Writes what was kept where the other cores find it.
    __aicore__ inline void Hand(int64_t request)
    {
        GM_ADDR list = List(GetBlockIdx(), request);
        const LocalTensor<int32_t> header = header_.Get<int32_t>();
        Order<HardEvent::MTE3_S>();
        for (uint32_t at = 0; at < LIST_HEADER / sizeof(int32_t); ++at) {
            header.SetValue(at, 0);
        }
        header.SetValue(ENTRY_COUNT, static_cast<int32_t>(failed_ ? 0 : sorted_.count));
        header.SetValue(ENTRY_FAILED, failed_ ? 1 : 0);
        header.SetValue(ENTRY_TILES, static_cast<int32_t>(tilesSeen_));
        header.SetValue(ENTRY_SKIPPED, static_cast<int32_t>(skipped_));
        Order<HardEvent::S_MTE3>();
        Store(Global<int32_t>(list), header, LIST_HEADER / sizeof(int32_t));
        if (!failed_ && sorted_.count > 0) {
            if (!XGR_FAULT("list_stored_unsorted")) {
                Order<HardEvent::V_MTE3>();
            }
            Store(Global<float>(list + LIST_HEADER), sorted_.Best(),
                  static_cast<uint32_t>(2 * sorted_.count));
            Order<HardEvent::MTE3_V>();
        }
    }

    // Reads the headers of a request's lists, those of cores firstCore_ to lastCore_.
    __aicore__ inline void Gather(int64_t request)
    {
        total_ = 0;
        failed_ = false;
        if (requestBegin_ == requestEnd_) {
            lastCore_ = -1;
            firstCore_ = 0;
            return;
        }
        firstCore_ = CoreOf(requestBegin_);
        lastCore_ = CoreOf(requestEnd_ - 1);
        const LocalTensor<int32_t> headers = headers_.Get<int32_t>();
        const DataCopyExtParams copy{static_cast<uint16_t>(lastCore_ - firstCore_ + 1),
                                     LIST_HEADER, static_cast<uint32_t>(listBytes_ - LIST_HEADER),
                                     0, 0};
        Order<HardEvent::S_MTE2>();
        DataCopyPad(headers, Global<int32_t>(List(firstCore_, request)), copy,
                    DataCopyPadExtParams<int32_t>{false, 0, 0, 0});
        Order<HardEvent::MTE2_S>();
        for (int64_t core = firstCore_; core <= lastCore_; ++core) {
            total_ += Header(core, ENTRY_COUNT);
            failed_ = failed_ || Header(core, ENTRY_FAILED) != 0;
        }
        total_ = failed_ ? 0 : Smaller(total_, Width(request));
    }

    __aicore__ inline int64_t Header(int64_t core, Entry entry) const
    {
        const int64_t at = (core - firstCore_) * (LIST_HEADER / sizeof(int32_t)) + entry;
        return headers_.Get<int32_t>().GetValue(static_cast<uint32_t>(at));
    }

    // From the lists of a request: its threshold, and this core's share of its survivors.
    __aicore__ inline void Share(int64_t request)
    {
        before_ = 0;
        mine_ = 0;
        int64_t all = 0;
        for (int64_t core = firstCore_; core <= lastCore_; ++core) {
            all += Header(core, ENTRY_COUNT);
            before_ += core < GetBlockIdx() ? Header(core, ENTRY_COUNT) : 0;
        }
        if (all < Width(request)) {
            // no list was cut short: all candidates survive
            mine_ = Header(GetBlockIdx(), ENTRY_COUNT);
            least_ = LEAST;
            equal_ = mine_;
            return;
        }
        sorted_.Begin(total_);
        for (int64_t core = firstCore_; core <= lastCore_; ++core) {
            sorted_.StageList(Global<float>(List(core, request) + LIST_HEADER),
                              Header(core, ENTRY_COUNT));
        }
        sorted_.MergeStaged();
        Order<HardEvent::V_S>();
        least_ = sorted_.Score(total_ - 1);
        before_ = 0;
        equal_ = 0;
        for (int64_t at = 0; at < total_; ++at) {
            const int32_t core = sorted_.Index(at);
            before_ += core < GetBlockIdx() ? 1 : 0;
            mine_ += core == GetBlockIdx() ? 1 : 0;
            equal_ += core == GetBlockIdx() && sorted_.Score(at) == least_ ? 1 : 0;
        }
        Order<HardEvent::S_V>();
    }

    // Writes this core's survivors of a request.
    __aicore__ inline void Emit(int64_t request, int64_t begin, int64_t end)
    {
        Gather(request);
        if (total_ == 0) {
            return;
        }
        Share(request);
        survivors_.Begin(found_, outputs_.Start(request) + before_);
        nodeRow_ = -1;
        int64_t left = mine_;
        for (int64_t unit = begin; unit < end && left > 0; ++unit) {
            if (unit - begin_ < SEEN_TILES) {
                const float greatest =
                    maxima_.Get<float>().GetValue(static_cast<uint32_t>(unit - begin_));
                if (greatest < least_ || (greatest == least_ && equal_ == 0)) {
                    continue;
                }
            }
            Ask(request, unit);
            const float greatest = Take(request, unit);
            if (greatest >= least_) {
                left -= Pick();
            }
        }
        survivors_.Flush();
    }

    // Takes the survivors among the scores at hand; how many there are.
    __aicore__ inline int64_t Pick()
    {
        const LocalTensor<float> score = totals_.Scores();
        const LocalTensor<uint8_t> bits = totals_.Bits();
        const uint32_t length = totals_.length;
        const LocalTensor<float> values = sorted_.Pairs();
        const LocalTensor<int32_t> columns =
            values[static_cast<uint32_t>(tile_)].ReinterpretCast<int32_t>();
        const LocalTensor<int32_t> numbers = totals_.Numbers();
        CreateVecIndex(numbers, static_cast<int32_t>(column_), length);
        CompareScalar(bits, score, least_, equal_ > 0 ? CMPMODE::GE : CMPMODE::GT, length);
        OrderVector();
        const GatherMaskParams by{1, 1, 8, 8};
        uint64_t kept = 0;
        GatherMask(values, score, bits.ReinterpretCast<uint32_t>(), true, length, by, kept);
        GatherMask(columns, numbers, bits.ReinterpretCast<uint32_t>(), true, length, by, kept);
        if (!XGR_FAULT("survivors_not_awaited")) {
            Order<HardEvent::V_S>();
        }
        int64_t taken = 0;
        for (uint32_t at = 0; at < kept; ++at) {
            const float value = values.GetValue(at);
            if (value == least_) {
                if (equal_ == 0) {
                    continue;
                }
                equal_ -= 1;
            }
            const int32_t code = columns.GetValue(at);
            survivors_.Hold(row_, code, value, at_.nodeOut == nullptr ? 0 : NodeOf(code));
            taken += 1;
        }
        Order<HardEvent::S_V>();
        return taken;
    }

    // The child of the row's node that has a code; 0 where there is no catalogue.
    __aicore__ inline int64_t NodeOf(int32_t code)
    {
        if (!catalogue_.known) {
            return 0;
        }
        if (nodeRow_ != row_) {
            nodeRow_ = row_;
            int64_t low = 0;
            int64_t count = 0;
            catalogue_.Children(at_.level == 0 ? 0 : node_.GetValue(row_), low, count);
            children_.Begin(catalogue_.code, low, count);
        }
        return children_.Find(code);
    }

    // Writes what is known of a request as a whole: survivors, status, dead rows.
    __aicore__ inline void Close(int64_t request)
    {
        Find(request);
        Gather(request);
        const LocalTensor<int32_t> word = header_.Get<int32_t>();
        Order<HardEvent::MTE3_S>();
        word.SetValue(0, static_cast<int32_t>(total_));
        int32_t complaint = failed_ ? NAN_LOGIT : 0;
        complaint |= Rows(request) > width_ ? TOO_WIDE : 0;
        const bool complains = complaint != 0 && at_.status != nullptr;
        if (complains) {
            word.SetValue(8, Global<int32_t>(at_.status).GetValue(request) | complaint);
        }
        Order<HardEvent::S_MTE3>();
        Store(Global<int32_t>(at_.liveOut)[request], word, 1);
        if (complains) {
            Store(Global<int32_t>(at_.status)[request], word[8], 1);
        }
        survivors_.Fill(out_, outputs_.Start(request) + total_, outputs_.Start(request + 1),
                        static_cast<int32_t>(inputs_.Start(request)));
    }

    // Puts the survivors of a request, which are in path order, into rank order.
    __aicore__ inline void Rank(int64_t request)
    {
        Find(request);
        Gather(request);
        if (total_ == 0) {
            return;
        }
        const int64_t first = outputs_.Start(request);
        const GlobalTensor<float> scores = Global<float>(found_.column[Survivors::SCORE]);
        sorted_.Begin(total_);
        for (int64_t at = 0; at < total_; at += SORT_PAIRS) {
            sorted_.IndexFrom(static_cast<int32_t>(at));
            sorted_.JoinAll(scores[first + at], Smaller(SORT_PAIRS, total_ - at));
            sorted_.Settle();
        }
        const LocalTensor<float> room = sorted_.Merged();
        const uint32_t apart = static_cast<uint32_t>(width_);
        const LocalTensor<int32_t> before = room.ReinterpretCast<int32_t>();
        const LocalTensor<int32_t> after = before[apart];
        const LocalTensor<uint32_t> offsets = sorted_.Pairs().ReinterpretCast<uint32_t>();
        const uint32_t count = static_cast<uint32_t>(total_);
        const GatherMaskParams by{1, 1, 8, 8};
        uint64_t kept = 0;
        GatherMask(offsets, sorted_.Best().ReinterpretCast<uint32_t>(), 2, true, 2 * count, by,
                   kept);
        OrderVector();
        ShiftLeft(offsets, offsets, static_cast<uint32_t>(2), static_cast<int32_t>(count));
        OrderVector();
        for (int column = 0; column < Survivors::COLUMNS; ++column) {
            if (!out_.Has(column)) {
                continue;
            }
            Order<HardEvent::V_MTE2>();
            Load(before, found_.At(column, first), count);
            Order<HardEvent::MTE2_V>();
            AscendC::Gather(after, before, offsets, 0, count);
            Order<HardEvent::V_MTE3>();
            Store(out_.At(column, first), after, count);
            Order<HardEvent::MTE3_V>();
        }
    }

    const BeamTopkArguments at_;
    const Catalogue catalogue_;
    Requests inputs_, outputs_;
    ChildCodes children_;
    Sorted sorted_;
    Totals totals_;
    Survivors survivors_;
    Survivors::Place found_, out_;  // where survivors go, and where they end
    GM_ADDR maximaAt_;
    GlobalTensor<float> cumulative_;
    GlobalTensor<int32_t> node_;
    int64_t requests_, columns_, outRows_, tile_, width_, tiles_, listBytes_;
    // this core's units of all units, and those of the request at hand
    int64_t units_ = 0, cores_ = 0, begin_ = 0, end_ = 0, requestBegin_ = 0, requestEnd_ = 0;
    int64_t turn_ = -1, turnBegin_ = 0, turnEnd_ = 0;
    // the unit at hand
    int64_t row_ = 0, column_ = 0;
    uint32_t columnsHere_ = 0;
    bool failed_ = false;
    int64_t skipped_ = 0, tilesSeen_ = 0;
    // the request at hand: cores that have units of it, survivors of all, before and of this core
    int64_t firstCore_ = 0, lastCore_ = -1, total_ = 0, before_ = 0, mine_ = 0;
    float least_ = 0;      // the least score that survives
    int64_t equal_ = 0;    // survivors of this core that are still to come and have just that
    int64_t nodeRow_ = -1;
    TBuf<TPosition::VECOUT> maxima_;
    mutable TBuf<TPosition::VECIN> headers_;
    TBuf<TPosition::VECOUT> header_;
};

}  // namespace xgr

extern "C" __global__ __aicore__ void xgr_beam_topk(
    GM_ADDR scores, GM_ADDR cumulative, GM_ADDR row_start, GM_ADDR live, GM_ADDR row_start_out,
    GM_ADDR out_width, GM_ADDR node, GM_ADDR descriptor, GM_ADDR codes, GM_ADDR first_child,
    GM_ADDR tiling, GM_ADDR workspace, GM_ADDR parent, GM_ADDR code, GM_ADDR node_out,
    GM_ADDR score, GM_ADDR live_out, GM_ADDR status, int64_t scores_row, int64_t nodes_here,
    int64_t nodes_above, int32_t level, int32_t ranked, int32_t phase)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    xgr::BeamTopk kernel({scores, cumulative, row_start, live, row_start_out, out_width, node,
                          descriptor, codes, first_child, tiling, workspace, parent, code, node_out,
                          score, live_out, status, scores_row, nodes_here, nodes_above, level,
                          ranked, phase});
    kernel.Process();
}
