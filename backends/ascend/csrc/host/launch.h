// Launch functions of the kernels, as CANN's build generates them, or as the emulator provides them.
// Each returns 0 when the launch is on its stream. The arguments are those of the kernel.
#pragma once

#include <cstdint>

extern "C" {
uint32_t aclrtlaunch_xgr_kv_reorder(uint32_t blocks, void *stream, void *k, void *v, void *parent,
                                    void *row_start, void *live, void *status, void *tiling,
                                    int64_t k_layer, int64_t k_row, int64_t k_slot, int64_t k_head,
                                    int64_t v_layer, int64_t v_row, int64_t v_slot, int64_t v_head,
                                    int32_t step);

uint32_t aclrtlaunch_xgr_mask_filter(uint32_t blocks, void *stream, void *scores, void *lse,
                                     void *node, void *row_start, void *live, void *descriptor,
                                     void *codes, void *first_child, void *kind, void *mask,
                                     void *list_start, void *listed, void *words, void *tiling,
                                     void *out, int64_t scores_row, int64_t out_row,
                                     int64_t nodes_here, int64_t nodes_above, int64_t mask_pitch,
                                     int32_t level, int32_t normalize, int32_t type);

uint32_t aclrtlaunch_xgr_beam_topk(uint32_t blocks, void *stream, void *scores, void *cumulative,
                                   void *row_start, void *live, void *row_start_out,
                                   void *out_width, void *node, void *descriptor, void *codes,
                                   void *first_child, void *tiling, void *workspace, void *parent,
                                   void *code, void *node_out, void *score, void *live_out,
                                   void *status, int64_t scores_row, int64_t nodes_here,
                                   int64_t nodes_above, int32_t level, int32_t ranked,
                                   int32_t phase);
}
