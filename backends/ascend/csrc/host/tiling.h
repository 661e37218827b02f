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

}  // namespace xgr
