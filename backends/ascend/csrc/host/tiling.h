// How a launch divides its work, computed on the host in plain C++: no CANN header, no device.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "../kernels/layout.h"

namespace xgr {

using Tiling = std::vector<int64_t>;

inline void need(const char *op, const char *name, int64_t value, int64_t least, int64_t most)
{
    if (value < least || value > most) {
        throw std::invalid_argument(std::string(op) + ": " + name + " is " +
                                    std::to_string(value) + ", allowed: " + std::to_string(least) +
                                    " to " + std::to_string(most));
    }
}

inline int64_t round_up(int64_t value, int64_t multiple)
{
    return (value + multiple - 1) / multiple * multiple;
}

constexpr int64_t MOST_INT32 = 2147483647;

// Pieces are large, so that a copy is worth its start, and small enough that no core idles.
//
// Args:
//   requests, layers, rows, slots, groups, head: axes B, L, R, S, G, d.
//   item: bytes of an element, 2 or 4.
//   step: slots that are valid.
//   cores: vector cores that the launch may use.
// Throws: std::invalid_argument for a size that the kernel does not take.
inline Tiling kv_reorder_tiling(int64_t requests, int64_t layers, int64_t rows, int64_t slots,
                                int64_t groups, int64_t head, int64_t item, int64_t step,
                                int64_t cores)
{
    const char *const op = "kv_reorder";
    need(op, "B", requests, 1, MOST_INT32);
    need(op, "L", layers, 1, MOST_INT32);
    need(op, "R", rows, 1, MOST_INT32);
    need(op, "S", slots, 1, MOST_INT32);
    need(op, "G", groups, 1, 65536);
    need(op, "d", head, 1, 65536);
    need(op, "step", step, 0, slots);
    need(op, "cores", cores, 1, 1024);
    if (item != 2 && item != 4) {
        throw std::invalid_argument(std::string(op) + ": elements of " + std::to_string(item) +
                                    " bytes, allowed: 2 and 4");
    }
    const int64_t row_bytes = std::max<int64_t>(step, 1) * groups * head * item;
    int64_t piece = 8192;
    while (piece > 512 &&
           2 * layers * requests * (round_up(row_bytes, piece) / piece) < 4 * cores) {
        piece /= 2;
    }
    piece = std::min(piece, round_up(row_bytes, 32));
    const int64_t half = 80 * 1024;
    const int64_t held = std::clamp<int64_t>(half / round_up(piece, 32), 1, CHUNK);
    Tiling words(KV_WORDS);
    const int64_t units = step > 0 ? 2 * layers * (round_up(row_bytes, piece) / piece) : 1;
    words[WORD_WORKSPACE] = 0;
    words[WORD_CORES] = std::min(cores, requests * units);
    words[KV_REQUESTS] = requests;
    words[KV_LAYERS] = layers;
    words[KV_GROUPS] = groups;
    words[KV_HEAD_BYTES] = head * item;
    words[KV_ITEM] = item;
    words[KV_PIECE] = piece;
    words[KV_ROWS] = std::min(held, round_up(rows, 8));
    return words;
}

// Tiles are wide, so that a copy is worth its start, unless the cores would have none of them.
//
// Args:
//   requests, rows, columns, out_rows: axes B, R, C, RO.
//   cores: vector cores that the launch may use.
// Throws: std::invalid_argument for a size that the kernel does not take.
inline Tiling beam_topk_tiling(int64_t requests, int64_t rows, int64_t columns, int64_t out_rows,
                               int64_t cores)
{
    const char *const op = "beam_topk";
    need(op, "B", requests, 1, MOST_REQUESTS);
    need(op, "R", rows, 1, MOST_INT32);
    need(op, "C", columns, 1, MOST_INT32);
    need(op, "RO", out_rows, 0, MOST_INT32);
    need(op, "cores", cores, 1, MOST_CORES);
    if (requests == 1) {
        need(op, "RO of a single request", out_rows, 0, MOST_SURVIVORS);
    }
    int64_t tile = 64;
    while (tile < columns && tile < 1024) {
        tile *= 2;
    }
    while (tile > 256 && rows * (round_up(columns, tile) / tile) < 2 * cores) {
        tile /= 2;
    }
    Tiling words(TOPK_WORDS);
    const int64_t width =
        round_up(std::clamp<int64_t>(out_rows, 1, MOST_SURVIVORS), 8);
    words[TOPK_REQUESTS] = requests;
    words[TOPK_COLUMNS] = columns;
    words[TOPK_OUT_ROWS] = out_rows;
    words[TOPK_TILE] = tile;
    words[TOPK_WIDTH] = width;
    words[WORD_CORES] = cores;
    // a list for each core and request that meet, the greatest score of each tile of a core, then
    // what is still to be ranked
    words[WORD_WORKSPACE] = (cores + requests) * (LIST_HEADER + 8 * width) +
                            cores * 4 * SEEN_TILES + 4 * round_up(out_rows, 8) * 4;
    return words;
}

// Args:
//   requests, rows, columns: axes B, R, K.
//   cores: vector cores that the launch may use.
// Throws: std::invalid_argument for a size that the kernel does not take.
inline Tiling mask_filter_tiling(int64_t requests, int64_t rows, int64_t columns, int64_t cores)
{
    const char *const op = "mask_filter";
    need(op, "B", requests, 1, MOST_REQUESTS);
    need(op, "R", rows, 1, MOST_INT32);
    need(op, "K", columns, 1, MOST_INT32);
    need(op, "cores", cores, 1, MOST_CORES);
    int64_t tile = 64;
    while (tile < columns && tile < 4096) {
        tile *= 2;
    }
    Tiling words(MASK_WORDS);
    words[WORD_WORKSPACE] = 0;
    words[WORD_CORES] = std::min(cores, rows);
    words[MASK_REQUESTS] = requests;
    words[MASK_ROWS] = rows;
    words[MASK_COLUMNS] = columns;
    words[MASK_TILE] = tile;
    // from here on words of bits take fewer scalar accesses than the children themselves
    words[MASK_DENSE] = 64;
    return words;
}

// Bytes of the unified buffer that each kernel reserves with a tiling.

inline int64_t kv_reorder_ub(const int64_t *words)
{
    const int64_t rows = words[KV_ROWS];
    return round_up(4 * rows, 32) + 32 + 2 * rows * round_up(words[KV_PIECE], 32);
}

// `item`: bytes of an element of the scores.
inline int64_t mask_filter_ub(const int64_t *words, int64_t item)
{
    const int64_t tile = words[MASK_TILE];
    const int64_t requests = 2 * round_up(4 * (words[MASK_REQUESTS] + 1), 32);
    const int64_t children = 2 * 4 * CHUNK + round_up(4 * (CHUNK / 32 + 1), 32);
    return requests + children + 2 * tile * item + 5 * 4 * tile + round_up(tile / 8, 32) + 32;
}

inline int64_t beam_topk_ub(const int64_t *words)
{
    const int64_t tile = words[TOPK_TILE];
    const int64_t width = words[TOPK_WIDTH];
    const int64_t sorted = 2 * 4 * SORT_PAIRS + 2 * 8 * SORT_PAIRS + 8 * width +
                           8 * (width + std::max<int64_t>(width, SORT_PAIRS));
    const int64_t requests = 4 * round_up(4 * (words[TOPK_REQUESTS] + 1), 32);
    const int64_t tiles = 4 * 4 * tile + round_up(tile / 8, 32) + 32 + 4 * SEEN_TILES;
    const int64_t lists = 2 * LIST_HEADER + LIST_HEADER * words[WORD_CORES];
    return sorted + requests + 4 * CHUNK + tiles + lists + 4 * 4 * HELD_SURVIVORS;
}

}  // namespace xgr
