// Tilings for callers that have no C++: 0 and the words, or 1 and what is wrong.
#include "../host/tiling.h"

#include <cstring>
#include <functional>

namespace {

int write(const std::function<xgr::Tiling()> &compute, int64_t *words, char *message, size_t room)
{
    try {
        const xgr::Tiling tiling = compute();
        std::copy(tiling.begin(), tiling.end(), words);
        return 0;
    } catch (const std::exception &wrong) {
        std::strncpy(message, wrong.what(), room - 1);
        return 1;
    }
}

}  // namespace

extern "C" {

// `sizes` are the arguments of the function of that name in host/tiling.h, in order; `words` has
// room for 32.
int tiling_kv_reorder(const int64_t *s, int64_t *words, char *message, size_t room)
{
    return write(
        [s] {
            return xgr::kv_reorder_tiling(s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7], s[8]);
        },
        words, message, room);
}

int tiling_beam_topk(const int64_t *s, int64_t *words, char *message, size_t room)
{
    return write([s] { return xgr::beam_topk_tiling(s[0], s[1], s[2], s[3], s[4]); }, words,
                 message, room);
}

int tiling_mask_filter(const int64_t *s, int64_t *words, char *message, size_t room)
{
    return write([s] { return xgr::mask_filter_tiling(s[0], s[1], s[2], s[3]); }, words, message,
                 room);
}

// Bytes of the unified buffer of a launch with a tiling.
int64_t ub_kv_reorder(const int64_t *words)
{
    return xgr::kv_reorder_ub(words);
}

int64_t ub_beam_topk(const int64_t *words)
{
    return xgr::beam_topk_ub(words);
}

int64_t ub_mask_filter(const int64_t *words, int64_t item)
{
    return xgr::mask_filter_ub(words, item);
}

}  // extern "C"
