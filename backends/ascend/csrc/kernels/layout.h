// Words of the tiling that each kernel reads from global memory, int64 each. The host fills them
// (host/tiling.h); word 0 is the size of the workspace in bytes, word 1 the number of cores.
#pragma once

namespace xgr {

enum Word : int { WORD_WORKSPACE, WORD_CORES, WORD_FIRST };

enum KvReorderWord : int {
    KV_REQUESTS = WORD_FIRST,
    KV_LAYERS,
    KV_GROUPS,
    KV_HEAD_BYTES,  // of one head of one slot
    KV_ITEM,        // bytes of an element
    KV_PIECE,       // most bytes of a row that are moved at once
    KV_ROWS,        // most rows that lie in the unified buffer at once
    KV_WORDS,
};

enum MaskFilterWord : int {
    MASK_REQUESTS = WORD_FIRST,
    MASK_ROWS,
    MASK_COLUMNS,
    MASK_TILE,   // columns that are read at once, a multiple of 64
    MASK_DENSE,  // children of a row from which on they are a bitmask, not a list
    MASK_WORDS,
};

enum BeamTopkWord : int {
    TOPK_REQUESTS = WORD_FIRST,
    TOPK_COLUMNS,
    TOPK_OUT_ROWS,
    TOPK_TILE,   // columns that are read at once, a multiple of 64
    TOPK_WIDTH,  // most survivors of one request
    TOPK_WORDS,
};

// Launches of beam_topk, one after the other: what a core writes in one, others read in the next.
enum Phase : int { PHASE_SCAN, PHASE_EMIT, PHASE_RANK };

// Pairs that are sorted at once: 32 * 4 * 4 * 4.
constexpr int SORT_PAIRS = 2048;

// Survivors of one request that a core can hold beside what it sorts.
constexpr int MOST_SURVIVORS = 3072;

// Cores of one launch.
constexpr int MOST_CORES = 128;

// Bytes before the pairs of a list in the workspace.
constexpr int LIST_HEADER = 32;

// Requests whose rows a core knows at once.
constexpr int MOST_REQUESTS = 1024;

// Survivors that a core holds on their way out.
constexpr int HELD_SURVIVORS = 512;

// Tiles whose greatest score a core remembers.
constexpr int SEEN_TILES = 2048;

// Children of a node, and entries of a list, that a core holds at once.
constexpr int CHUNK = 1024;

// Bits of status[b].
constexpr int NAN_LOGIT = 1;
constexpr int BAD_PARENT = 2;
constexpr int TOO_WIDE = 4;

// Ways to normalise scores.
enum Normalize : int { NORMALIZE_NONE, NORMALIZE_GIVEN, NORMALIZE_LEVEL, NORMALIZE_CHILDREN };

// Element types of scores.
enum ElementType : int { TYPE_FLOAT, TYPE_HALF, TYPE_BFLOAT16 };

// A legal score is never below this: -inf means illegal and only that.
constexpr float LEAST = -1e30f;

}  // namespace xgr
