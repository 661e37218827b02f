// beam_topk: the best out_width[b] continuations of each request, in rank or path order.
//
// A unit is a tile of a row; units in the order of rows and columns are in path order, and each core
// takes a run of them.
//
// 1. Each core keeps the best scores of its run for each request, sorted, with the last of them as
//    threshold: a tile whose greatest score is not above it is skipped, and of other tiles only
//    scores above it are ever sorted. The lists go to the workspace.
// 2. Each core merges the lists of a request, in the order of cores. The last score kept is the
//    request's threshold, and the entries of each core say how many survivors it has, and where
//    they go. It then visits only the tiles that hold one, and writes its survivors, which are in
//    path order as they stand.
// 3. For rank order one core sorts the survivors of a request.
//
// Equal scores: of a sorted list the earlier entry comes first, as Sort32 and MrgSort state, and
// entries come in path order.
#include "catalogue.h"
#include "requests.h"
#include "sorted.h"

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
    int32_t level, ranked;
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
        GM_ADDR ranking = at_.workspace + (GetBlockNum() + requests_) * listBytes_;
        const int64_t apart = RoundUp(outRows_, 8) * sizeof(int32_t);
        const bool ranked = at_.ranked != 0;
        found_[PARENT] = Global<int32_t>(ranked ? ranking : at_.parent);
        found_[CODE] = Global<int32_t>(ranked ? ranking + apart : at_.code);
        found_[SCORE] = Global<int32_t>(ranked ? ranking + 2 * apart : at_.score);
        found_[NODE] = Global<int32_t>(ranked ? ranking + 3 * apart : at_.nodeOut);
        rankingScores_ = ranking + 2 * apart;
        out_[PARENT] = Global<int32_t>(at_.parent);
        out_[CODE] = Global<int32_t>(at_.code);
        out_[SCORE] = Global<int32_t>(at_.score);
        out_[NODE] = Global<int32_t>(at_.nodeOut);
    }

    __aicore__ inline void Process()
    {
        TPipe pipe;
        InitBuffers(pipe);
        Divide();
        BeginTurns();
        while (NextTurn()) {
            Scan(turn_, turnBegin_, turnEnd_);
            Hand(turn_);
        }
        Meet();
        BeginTurns();
        while (NextTurn()) {
            Emit(turn_, turnBegin_, turnEnd_);
        }
        for (int64_t request = GetBlockIdx(); request < requests_; request += GetBlockNum()) {
            Close(request);
        }
        if (GetBlockIdx() == GetBlockNum() - 1) {
            Fill(0, outputs_.Start(0), 0);
            Fill(outputs_.Start(requests_), outRows_, 0);
        }
        if (at_.ranked != 0) {
            Meet();
            for (int64_t request = GetBlockIdx(); request < requests_; request += GetBlockNum()) {
                Rank(request);
            }
        }
    }

private:
    enum Column : int { PARENT, CODE, SCORE, NODE, COLUMNS };
    enum Entry : int { ENTRY_COUNT, ENTRY_FAILED, ENTRY_TILES, ENTRY_SKIPPED };

    static constexpr int64_t HELD = HELD_SURVIVORS;

    __aicore__ inline void InitBuffers(TPipe &pipe)
    {
        sorted_.Init(pipe, width_);  // first, for its alignment
        inputs_.Init(pipe, at_.rowStart, at_.live, requests_);
        outputs_.Init(pipe, at_.rowStartOut, at_.outWidth, requests_);
        children_.Init(pipe);
        pipe.InitBuffer(tileQueue_, 2, static_cast<uint32_t>(tile_ * sizeof(float)));
        pipe.InitBuffer(score_, static_cast<uint32_t>(tile_ * sizeof(float)));
        pipe.InitBuffer(work_, static_cast<uint32_t>(tile_ * sizeof(float)));
        pipe.InitBuffer(bits_, static_cast<uint32_t>(tile_ / 8));
        pipe.InitBuffer(one_, 32);
        pipe.InitBuffer(maxima_, SEEN_TILES * sizeof(float));
        pipe.InitBuffer(header_, 2 * LIST_HEADER);
        pipe.InitBuffer(headers_, static_cast<uint32_t>(GetBlockNum() * LIST_HEADER));
        pipe.InitBuffer(survivors_, COLUMNS * HELD * sizeof(int32_t));
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

    __aicore__ inline void Meet()
    {
        if (!XGR_FAULT("meets_in_flight")) {
            PipeBarrier<PIPE_ALL>();
        }
        if (!XGR_FAULT("cores_do_not_meet")) {
            SyncAll();
        }
    }

    // Asks for the scores of a unit; behind the last column there is nothing.
    __aicore__ inline void Ask(int64_t request, int64_t unit)
    {
        const int64_t inside = unit - requestBegin_;
        const int64_t row = inputs_.Start(request) + inside / tiles_;
        const int64_t column = inside % tiles_ * tile_;
        const uint32_t count = static_cast<uint32_t>(Smaller(tile_, columns_ - column));
        const uint32_t whole = static_cast<uint32_t>(RoundUp(count, 8));
        const LocalTensor<float> tile = tileQueue_.AllocTensor<float>();
        if (whole < Length(count) && !XGR_FAULT("tile_tail_unset")) {
            Duplicate(tile[whole], -INFINITE, static_cast<int32_t>(Length(count) - whole));
        }
        LoadPadded(tile, Global<float>(at_.scores)[row * at_.scoresRow + column], count, -INFINITE);
        tileQueue_.EnQue(tile);
    }

    // A power of two of numbers that hold `count`.
    __aicore__ inline uint32_t Length(uint32_t count) const
    {
        uint32_t length = 64;
        while (length < count) {
            length *= 2;
        }
        return length;
    }

    // Takes the scores that were asked for: totals in score_, and the greatest of them.
    // A NaN or +inf sets failed_.
    __aicore__ inline float Take(int64_t request, int64_t unit)
    {
        const int64_t inside = unit - requestBegin_;
        row_ = inputs_.Start(request) + inside / tiles_;
        column_ = inside % tiles_ * tile_;
        length_ = Length(static_cast<uint32_t>(Smaller(tile_, columns_ - column_)));
        LocalTensor<float> tile = tileQueue_.DeQue<float>();
        const LocalTensor<float> score = score_.Get<float>();
        const LocalTensor<float> work = work_.Get<float>();
        OrderVector();
        // -0 becomes 0, so that equal scores have equal bits
        Adds(score, tile, cumulative_.GetValue(row_) + 0.0f, static_cast<int32_t>(length_));
        tileQueue_.FreeTensor(tile);
        OrderVector();
        failed_ = HasNan(score, work.ReinterpretCast<int32_t>(), length_);
        if (failed_) {
            return INFINITE;
        }
        const float greatest = Greatest(score, one_.Get<float>(), work, length_);
        failed_ = greatest == INFINITE;
        if (greatest == -INFINITE || failed_) {
            return greatest;
        }
        ClampLegal(score, bits_.Get<uint8_t>(), length_);
        return greatest < LEAST ? LEAST : greatest;
    }

    // Keeps the best scores of this core's units of a request.
    __aicore__ inline void Scan(int64_t request, int64_t begin, int64_t end)
    {
        const int64_t width = Width(request);
        sorted_.Begin(width);
        sorted_.IndexAll(static_cast<int32_t>(GetBlockIdx()));
        skipped_ = 0;
        bool failed = false;
        Ask(request, begin);
        for (int64_t unit = begin; unit < end; ++unit) {
            if (unit + 1 < end) {
                Ask(request, unit + 1);
            }
            const float greatest = Take(request, unit);
            if (failed_) {
                failed = true;
                if (unit + 1 < end) {
                    LocalTensor<float> asked = tileQueue_.DeQue<float>();
                    tileQueue_.FreeTensor(asked);
                }
                break;
            }
            if (unit - begin_ < SEEN_TILES) {
                maxima_.Get<float>().SetValue(static_cast<uint32_t>(unit - begin_), greatest);
            }
            if (width == 0 || greatest == -INFINITE) {
                continue;
            }
            if (sorted_.MustSettle(length_)) {
                sorted_.Settle();
            }
            if (sorted_.Full() && greatest <= sorted_.threshold) {
                skipped_ += 1;
                continue;
            }
            sorted_.Join(score_.Get<float>(), bits_.Get<uint8_t>(), length_);
        }
        failed_ = failed;
        tilesSeen_ = end - begin;
        if (width > 0 && !failed) {
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
            sorted_.MergeList(Global<float>(List(core, request) + LIST_HEADER),
                              Header(core, ENTRY_COUNT));
        }
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
        written_ = outputs_.Start(request) + before_;
        held_ = 0;
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
        Flush();
    }

    // Takes the survivors among the scores at hand; how many there are.
    __aicore__ inline int64_t Pick()
    {
        const LocalTensor<float> score = score_.Get<float>();
        const LocalTensor<uint8_t> bits = bits_.Get<uint8_t>();
        const LocalTensor<float> values = sorted_.Pairs();
        const LocalTensor<int32_t> columns =
            values[static_cast<uint32_t>(tile_)].ReinterpretCast<int32_t>();
        const LocalTensor<int32_t> numbers = work_.Get<int32_t>();
        CreateVecIndex(numbers, static_cast<int32_t>(column_), length_);
        CompareScalar(bits, score, least_, equal_ > 0 ? CMPMODE::GE : CMPMODE::GT, length_);
        OrderVector();
        const GatherMaskParams by{1, 1, 8, 8};
        uint64_t kept = 0;
        GatherMask(values, score, bits.ReinterpretCast<uint32_t>(), true, length_, by, kept);
        GatherMask(columns, numbers, bits.ReinterpretCast<uint32_t>(), true, length_, by, kept);
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
            Hold(columns.GetValue(at), value);
            taken += 1;
        }
        Order<HardEvent::S_V>();
        return taken;
    }

    __aicore__ inline LocalTensor<int32_t> Held(int column) const
    {
        return survivors_.Get<int32_t>()[static_cast<uint32_t>(column * HELD)];
    }

    __aicore__ inline void Hold(int32_t code, float value)
    {
        if (held_ == HELD) {
            Flush();
        }
        const uint32_t at = static_cast<uint32_t>(held_);
        Held(PARENT).SetValue(at, static_cast<int32_t>(row_));
        Held(CODE).SetValue(at, code);
        Held(SCORE).ReinterpretCast<float>().SetValue(at, value);
        if (at_.nodeOut != nullptr) {
            Held(NODE).SetValue(at, static_cast<int32_t>(NodeOf(code)));
        }
        held_ += 1;
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

    __aicore__ inline void Flush()
    {
        if (held_ == 0) {
            return;
        }
        Order<HardEvent::S_MTE3>();
        for (int column = 0; column < COLUMNS; ++column) {
            if (column != NODE || at_.nodeOut != nullptr) {
                Store(found_[column][written_], Held(column), static_cast<uint32_t>(held_));
            }
        }
        Order<HardEvent::MTE3_S>();
        written_ += held_;
        held_ = 0;
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
        Fill(outputs_.Start(request) + total_, outputs_.Start(request + 1),
             static_cast<int32_t>(inputs_.Start(request)));
    }

    // Dead rows: no score, no node, code 0.
    __aicore__ inline void Fill(int64_t begin, int64_t end, int32_t parent)
    {
        if (begin >= end) {
            return;
        }
        const int32_t count = static_cast<int32_t>(HELD);
        Order<HardEvent::S_V>();
        Order<HardEvent::MTE3_V>();
        Duplicate(Held(PARENT), parent, count);
        Duplicate(Held(CODE), 0, count);
        Duplicate(Held(SCORE).ReinterpretCast<float>(), -INFINITE, count);
        Duplicate(Held(NODE), -1, count);
        Order<HardEvent::V_MTE3>();
        for (int64_t at = begin; at < end; at += HELD) {
            const uint32_t rows = static_cast<uint32_t>(Smaller(HELD, end - at));
            for (int column = 0; column < COLUMNS; ++column) {
                if (column != NODE || at_.nodeOut != nullptr) {
                    Store(out_[column][at], Held(column), rows);
                }
            }
        }
        Order<HardEvent::MTE3_V>();
        Order<HardEvent::MTE3_S>();
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
        const GlobalTensor<float> scores = Global<float>(rankingScores_);
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
        for (int column = 0; column < COLUMNS; ++column) {
            if (column == NODE && at_.nodeOut == nullptr) {
                continue;
            }
            Order<HardEvent::V_MTE2>();
            Load(before, found_[column][first], count);
            Order<HardEvent::MTE2_V>();
            AscendC::Gather(after, before, offsets, 0, count);
            Order<HardEvent::V_MTE3>();
            Store(out_[column][first], after, count);
            Order<HardEvent::MTE3_V>();
        }
    }

    const BeamTopkArguments at_;
    const Catalogue catalogue_;
    Requests inputs_, outputs_;
    ChildCodes children_;
    Sorted sorted_;
    GlobalTensor<float> cumulative_;
    GM_ADDR rankingScores_;
    GlobalTensor<int32_t> node_, found_[COLUMNS], out_[COLUMNS];
    int64_t requests_, columns_, outRows_, tile_, width_, tiles_, listBytes_;
    // this core's units of all units, and those of the request at hand
    int64_t units_ = 0, cores_ = 0, begin_ = 0, end_ = 0, requestBegin_ = 0, requestEnd_ = 0;
    int64_t turn_ = -1, turnBegin_ = 0, turnEnd_ = 0;
    // the unit at hand
    int64_t row_ = 0, column_ = 0;
    uint32_t length_ = 0;
    bool failed_ = false;
    int64_t skipped_ = 0, tilesSeen_ = 0;
    // the request at hand: cores that have units of it, survivors of all, before and of this core
    int64_t firstCore_ = 0, lastCore_ = -1, total_ = 0, before_ = 0, mine_ = 0;
    float least_ = 0;      // the least score that survives
    int64_t equal_ = 0;    // survivors of this core that are still to come and have just that
    int64_t written_ = 0, held_ = 0, nodeRow_ = -1;
    TQue<TPosition::VECIN, 2> tileQueue_;
    TBuf<TPosition::VECCALC> score_, work_, bits_, one_;
    mutable TBuf<TPosition::VECCALC> maxima_;
    mutable TBuf<TPosition::VECIN> headers_;
    mutable TBuf<TPosition::VECOUT> header_, survivors_;
};

}  // namespace xgr

extern "C" __global__ __aicore__ void xgr_beam_topk(
    GM_ADDR scores, GM_ADDR cumulative, GM_ADDR row_start, GM_ADDR live, GM_ADDR row_start_out,
    GM_ADDR out_width, GM_ADDR node, GM_ADDR descriptor, GM_ADDR codes, GM_ADDR first_child,
    GM_ADDR tiling, GM_ADDR workspace, GM_ADDR parent, GM_ADDR code, GM_ADDR node_out,
    GM_ADDR score, GM_ADDR live_out, GM_ADDR status, int64_t scores_row, int64_t nodes_here,
    int64_t nodes_above, int32_t level, int32_t ranked)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0);
    xgr::BeamTopk kernel({scores,      cumulative, row_start, live,       row_start_out,
                          out_width,   node,       descriptor, codes,     first_child,
                          tiling,      workspace,  parent,    code,       node_out,
                          score,       live_out,   status,    scores_row, nodes_here,
                          nodes_above, level,      ranked});
    kernel.Process();
}
