// The kernels as operators of torch, namespace xgr_ascend: on an NPU they launch, on meta tensors
// they only check. They read no value of a tensor and allocate nothing.
#include <ATen/ATen.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include <functional>
#include <optional>

#include "launch.h"
#include "tiling.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"
#include "torch_npu/csrc/framework/OpCommand.h"

namespace {

using at::Tensor;
using Maybe = std::optional<Tensor>;

void *address(const Tensor &tensor)
{
    return const_cast<void *>(tensor.const_data_ptr());
}

void *address(const Maybe &tensor)
{
    return tensor.has_value() ? address(*tensor) : nullptr;
}

// What a kernel of this op can take; complaints name op and argument.
class Need {
public:
    explicit Need(const char *op, const Tensor &first) : op_(op), device_(first.device())
    {
    }

    // One axis without gaps; `least` elements or more.
    void line(const char *name, const Tensor &tensor, at::ScalarType type, int64_t least) const
    {
        same_device(name, tensor);
        TORCH_CHECK(tensor.scalar_type() == type, op_, ": ", name, " is ", tensor.scalar_type(),
                    ", need ", type);
        TORCH_CHECK(tensor.dim() == 1 && tensor.numel() >= least, op_, ": ", name, " has shape ",
                    tensor.sizes(), ", need one axis of ", least, " or more");
        TORCH_CHECK(tensor.is_contiguous(), op_, ": ", name, " has stride ", tensor.stride(0),
                    ", need 1: pass a contiguous copy");
    }

    void line(const char *name, const Maybe &tensor, at::ScalarType type, int64_t least) const
    {
        if (tensor.has_value()) {
            line(name, *tensor, type, least);
        }
    }

    // The last axis without gaps.
    void rows(const char *name, const Tensor &tensor, int64_t dims) const
    {
        same_device(name, tensor);
        TORCH_CHECK(tensor.dim() == dims, op_, ": ", name, " has shape ", tensor.sizes(),
                    ", need ", dims, " axes");
        TORCH_CHECK(tensor.size(-1) == 1 || tensor.stride(-1) == 1, op_, ": ", name,
                    " has stride ", tensor.stride(-1), " on its last axis, need 1");
    }

    void same_device(const char *name, const Tensor &tensor) const
    {
        TORCH_CHECK(tensor.device() == device_, op_, ": ", name, " is on ", tensor.device(),
                    ", the first argument on ", device_);
    }

    void level(int64_t level, const Maybe &descriptor, const Maybe &codes,
               const Maybe &first_child) const
    {
        TORCH_CHECK(level >= 0, op_, ": level is ", level, ", need 0 or more");
        TORCH_CHECK(!descriptor.has_value() || !codes.has_value(), op_,
                    ": the catalogue is given by descriptor or by codes, not by both");
        TORCH_CHECK(!codes.has_value() || level == 0 || first_child.has_value(), op_,
                    ": codes of level ", level, " need first_child of the level above");
        line("descriptor", descriptor, at::kLong, 5 * (level + 1));
        line("codes", codes, at::kInt, 0);
        line("first_child", first_child, at::kInt, 1);
    }

    // The tiling and the cores that it was made for.
    void tiling(const Tensor &tiling, int64_t words, int64_t cores) const
    {
        line("tiling", tiling, at::kLong, words);
        TORCH_CHECK(cores >= 1 && cores <= xgr::MOST_CORES, op_, ": cores is ", cores,
                    ", allowed: 1 to ", xgr::MOST_CORES);
    }

private:
    const char *op_;
    const at::Device device_;
};

int64_t element_type(const Tensor &scores)
{
    switch (scores.scalar_type()) {
        case at::kFloat:
            return xgr::TYPE_FLOAT;
        case at::kHalf:
            return xgr::TYPE_HALF;
        case at::kBFloat16:
            return xgr::TYPE_BFLOAT16;
        default:
            TORCH_CHECK(false, "mask_filter: scores is ", scores.scalar_type(),
                        ", need float32, float16 or bfloat16");
    }
}

// On the current stream of the device, in the order of torch's own launches.
void launch(const char *op, const std::function<uint32_t(void *stream)> &start)
{
    void *stream = c10_npu::getCurrentNPUStream().stream(false);
    at_npu::native::OpCommand::RunOpApi(
        op, [start, stream]() -> int { return static_cast<int>(start(stream)); });
}

void check_mask_filter(const Tensor &scores, const Maybe &lse, int64_t normalize,
                       const Tensor &node, const Tensor &row_start, const Tensor &live,
                       const Maybe &descriptor, const Maybe &codes, const Maybe &first_child,
                       int64_t level, int64_t, int64_t, const Maybe &kind, const Maybe &mask,
                       const Maybe &list_start, const Maybe &listed, const Maybe &words, int64_t,
                       const Tensor &tiling, int64_t cores, const Tensor &out)
{
    const Need need("mask_filter", scores);
    need.rows("scores", scores, 2);
    need.rows("out", out, 2);
    element_type(scores);
    TORCH_CHECK(out.scalar_type() == at::kFloat && out.sizes() == scores.sizes(),
                "mask_filter: out is ", out.scalar_type(), " ", out.sizes(), ", need float32 ",
                scores.sizes());
    TORCH_CHECK(normalize >= xgr::NORMALIZE_NONE && normalize <= xgr::NORMALIZE_CHILDREN,
                "mask_filter: normalize is ", normalize, ", allowed: 0 to 3");
    TORCH_CHECK(normalize != xgr::NORMALIZE_GIVEN || lse.has_value(),
                "mask_filter: normalize 1 needs the argument lse");
    need.line("lse", lse, at::kFloat, scores.size(0));
    need.line("node", node, at::kInt, scores.size(0));
    need.line("live", live, at::kInt, 1);
    need.line("row_start", row_start, at::kInt, live.size(0) + 1);
    need.level(level, descriptor, codes, first_child);
    need.line("kind", kind, at::kInt, live.size(0));
    need.line("mask", mask, at::kInt, live.size(0));
    need.line("list_start", list_start, at::kInt, live.size(0) + 1);
    need.line("listed", listed, at::kInt, 0);
    TORCH_CHECK(!kind.has_value() || (mask.has_value() && list_start.has_value() && listed.has_value()),
                "mask_filter: filters need kind, mask, list_start and listed");
    if (words.has_value()) {
        need.rows("words", *words, 2);
    }
    need.tiling(tiling, xgr::MASK_WORDS, cores);
}

void mask_filter(const Tensor &scores, const Maybe &lse, int64_t normalize, const Tensor &node,
                 const Tensor &row_start, const Tensor &live, const Maybe &descriptor,
                 const Maybe &codes, const Maybe &first_child, int64_t level, int64_t nodes_here,
                 int64_t nodes_above, const Maybe &kind, const Maybe &mask,
                 const Maybe &list_start, const Maybe &listed, const Maybe &words,
                 int64_t mask_pitch, const Tensor &tiling, int64_t cores, const Tensor &out)
{
    check_mask_filter(scores, lse, normalize, node, row_start, live, descriptor, codes,
                      first_child, level, nodes_here, nodes_above, kind, mask, list_start, listed,
                      words, mask_pitch, tiling, cores, out);
    const c10::DeviceGuard guard(scores.device());
    const auto type = static_cast<int32_t>(element_type(scores));
    launch("xgr_mask_filter", [=, scores_at = address(scores), lse_at = address(lse),
                               node_at = address(node), row_start_at = address(row_start),
                               live_at = address(live), descriptor_at = address(descriptor),
                               codes_at = address(codes), first_child_at = address(first_child),
                               kind_at = address(kind), mask_at = address(mask),
                               list_start_at = address(list_start), listed_at = address(listed),
                               words_at = address(words), tiling_at = address(tiling),
                               out_at = address(out), scores_row = scores.stride(0),
                               out_row = out.stride(0)](void *stream) {
        return aclrtlaunch_xgr_mask_filter(
            static_cast<uint32_t>(cores), stream, scores_at, lse_at, node_at, row_start_at,
            live_at, descriptor_at, codes_at, first_child_at, kind_at, mask_at, list_start_at,
            listed_at, words_at, tiling_at, out_at, scores_row, out_row, nodes_here, nodes_above,
            mask_pitch, static_cast<int32_t>(level), static_cast<int32_t>(normalize), type);
    });
}

void check_beam_topk(const Tensor &scores, const Tensor &cumulative, const Tensor &row_start,
                     const Tensor &live, const Tensor &row_start_out, const Tensor &out_width,
                     bool, const Maybe &node, const Maybe &descriptor, const Maybe &codes,
                     const Maybe &first_child, int64_t level, int64_t, int64_t,
                     const Tensor &tiling, int64_t cores, const Tensor &workspace,
                     const Tensor &parent, const Tensor &code, const Maybe &node_out,
                     const Tensor &score, const Tensor &live_out, const Maybe &status)
{
    const Need need("beam_topk", scores);
    need.rows("scores", scores, 2);
    TORCH_CHECK(scores.scalar_type() == at::kFloat, "beam_topk: scores is ", scores.scalar_type(),
                ", need float32");
    const int64_t requests = live.size(0);
    const int64_t targets = parent.size(0);
    need.line("cumulative", cumulative, at::kFloat, scores.size(0));
    need.line("live", live, at::kInt, 1);
    need.line("row_start", row_start, at::kInt, requests + 1);
    need.line("row_start_out", row_start_out, at::kInt, requests + 1);
    need.line("out_width", out_width, at::kInt, requests);
    need.line("node", node, at::kInt, scores.size(0));
    need.level(level, descriptor, codes, first_child);
    need.tiling(tiling, xgr::TOPK_WORDS, cores);
    need.line("workspace", workspace, at::kByte, 0);
    need.line("parent", parent, at::kInt, 0);
    need.line("code", code, at::kInt, targets);
    need.line("node_out", node_out, at::kInt, targets);
    need.line("score", score, at::kFloat, targets);
    need.line("live_out", live_out, at::kInt, requests);
    need.line("status", status, at::kInt, requests);
    const bool catalogue = descriptor.has_value() || codes.has_value();
    TORCH_CHECK(!node_out.has_value() || !catalogue || level == 0 || node.has_value(),
                "beam_topk: node_out at level ", level, " needs node");
}

void beam_topk(const Tensor &scores, const Tensor &cumulative, const Tensor &row_start,
               const Tensor &live, const Tensor &row_start_out, const Tensor &out_width,
               bool ranked, const Maybe &node, const Maybe &descriptor, const Maybe &codes,
               const Maybe &first_child, int64_t level, int64_t nodes_here, int64_t nodes_above,
               const Tensor &tiling, int64_t cores, const Tensor &workspace, const Tensor &parent,
               const Tensor &code, const Maybe &node_out, const Tensor &score,
               const Tensor &live_out, const Maybe &status)
{
    check_beam_topk(scores, cumulative, row_start, live, row_start_out, out_width, ranked, node,
                    descriptor, codes, first_child, level, nodes_here, nodes_above, tiling, cores,
                    workspace, parent, code, node_out, score, live_out, status);
    const c10::DeviceGuard guard(scores.device());
    launch("xgr_beam_topk", [=, scores_at = address(scores), cumulative_at = address(cumulative),
                             row_start_at = address(row_start), live_at = address(live),
                             row_start_out_at = address(row_start_out),
                             out_width_at = address(out_width), node_at = address(node),
                             descriptor_at = address(descriptor), codes_at = address(codes),
                             first_child_at = address(first_child), tiling_at = address(tiling),
                             workspace_at = address(workspace), parent_at = address(parent),
                             code_at = address(code), node_out_at = address(node_out),
                             score_at = address(score), live_out_at = address(live_out),
                             status_at = address(status),
                             scores_row = scores.stride(0)](void *stream) {
        // a phase reads what the one before wrote: the stream orders them
        for (int32_t phase = xgr::PHASE_SCAN; phase <= (ranked ? xgr::PHASE_RANK : xgr::PHASE_EMIT);
             ++phase) {
            const uint32_t code = aclrtlaunch_xgr_beam_topk(
                static_cast<uint32_t>(cores), stream, scores_at, cumulative_at, row_start_at,
                live_at, row_start_out_at, out_width_at, node_at, descriptor_at, codes_at,
                first_child_at, tiling_at, workspace_at, parent_at, code_at, node_out_at, score_at,
                live_out_at, status_at, scores_row, nodes_here, nodes_above,
                static_cast<int32_t>(level), ranked ? 1 : 0, phase);
            if (code != 0) {
                return code;
            }
        }
        return static_cast<uint32_t>(0);
    });
}

void check_kv_reorder(const Tensor &k, const Tensor &v, const Tensor &parent,
                      const Tensor &row_start, const Tensor &live, const Tensor &tiling,
                      int64_t cores, int64_t step, const Tensor &status)
{
    const Need need("kv_reorder", k);
    need.rows("k", k, 5);
    need.rows("v", v, 5);
    TORCH_CHECK(v.sizes() == k.sizes() && v.scalar_type() == k.scalar_type(),
                "kv_reorder: v is ", v.scalar_type(), " ", v.sizes(), ", need ", k.scalar_type(),
                " ", k.sizes(), " as k");
    TORCH_CHECK(k.element_size() == 2 || k.element_size() == 4, "kv_reorder: elements of ",
                k.element_size(), " bytes, allowed: 2 and 4");
    TORCH_CHECK(step >= 0 && step <= k.size(2), "kv_reorder: step is ", step, ", allowed: 0 to ",
                k.size(2));
    const int64_t requests = live.size(0);
    need.line("parent", parent, at::kInt, k.size(1));
    need.line("live", live, at::kInt, 1);
    need.line("row_start", row_start, at::kInt, requests + 1);
    need.line("status", status, at::kInt, requests);
    need.tiling(tiling, xgr::KV_WORDS, cores);
}

void kv_reorder(const Tensor &k, const Tensor &v, const Tensor &parent, const Tensor &row_start,
                const Tensor &live, const Tensor &tiling, int64_t cores, int64_t step,
                const Tensor &status)
{
    check_kv_reorder(k, v, parent, row_start, live, tiling, cores, step, status);
    const c10::DeviceGuard guard(k.device());
    launch("xgr_kv_reorder", [=, k_at = address(k), v_at = address(v), parent_at = address(parent),
                              row_start_at = address(row_start), live_at = address(live),
                              status_at = address(status), tiling_at = address(tiling),
                              by_k = k.strides().vec(), by_v = v.strides().vec()](void *stream) {
        return aclrtlaunch_xgr_kv_reorder(
            static_cast<uint32_t>(cores), stream, k_at, v_at, parent_at, row_start_at, live_at,
            status_at, tiling_at, by_k[0], by_k[1], by_k[2], by_k[3], by_v[0], by_v[1], by_v[2],
            by_v[3], static_cast<int32_t>(step));
    });
}

Tensor words_of(const xgr::Tiling &tiling)
{
    const Tensor words = at::empty({static_cast<int64_t>(tiling.size())}, at::kLong);
    std::copy(tiling.begin(), tiling.end(), words.mutable_data_ptr<int64_t>());
    return words;
}

Tensor mask_filter_tiling(int64_t B, int64_t R, int64_t K, int64_t cores)
{
    return words_of(xgr::mask_filter_tiling(B, R, K, cores));
}

Tensor beam_topk_tiling(int64_t B, int64_t R, int64_t C, int64_t RO, int64_t cores)
{
    return words_of(xgr::beam_topk_tiling(B, R, C, RO, cores));
}

Tensor kv_reorder_tiling(int64_t B, int64_t L, int64_t R, int64_t S, int64_t G, int64_t d,
                         int64_t itemsize, int64_t step, int64_t cores)
{
    return words_of(xgr::kv_reorder_tiling(B, L, R, S, G, d, itemsize, step, cores));
}

}  // namespace

TORCH_LIBRARY(xgr_ascend, library)
{
    const std::string level = "Tensor? descriptor, Tensor? codes, Tensor? first_child, int level, "
                              "int nodes_here, int nodes_above, ";
    const std::string mask_filter_schema =
        "mask_filter(Tensor scores, Tensor? lse, int normalize, Tensor node, Tensor row_start, "
        "Tensor live, " +
        level +
        "Tensor? kind, Tensor? mask, Tensor? list_start, Tensor? listed, Tensor? words, "
        "int mask_pitch, Tensor tiling, int cores, Tensor(a!) out) -> ()";
    const std::string beam_topk_schema =
        "beam_topk(Tensor scores, Tensor cumulative, Tensor row_start, Tensor live, "
        "Tensor row_start_out, Tensor out_width, bool ranked, Tensor? node, " +
        level +
        "Tensor tiling, int cores, Tensor(a!) workspace, Tensor(b!) parent, Tensor(c!) code, "
        "Tensor(d!)? node_out, Tensor(e!) score, Tensor(f!) live_out, Tensor(g!)? status) -> ()";
    library.def(mask_filter_schema.c_str());
    library.def(beam_topk_schema.c_str());
    library.def("kv_reorder(Tensor(a!) k, Tensor(b!) v, Tensor parent, Tensor row_start, "
                "Tensor live, Tensor tiling, int cores, int step, Tensor(c!) status) -> ()");
    library.def("mask_filter_tiling(int B, int R, int K, int cores) -> Tensor",
                &mask_filter_tiling);
    library.def("beam_topk_tiling(int B, int R, int C, int RO, int cores) -> Tensor",
                &beam_topk_tiling);
    library.def("kv_reorder_tiling(int B, int L, int R, int S, int G, int d, int itemsize, "
                "int step, int cores) -> Tensor",
                &kv_reorder_tiling);
}

TORCH_LIBRARY_IMPL(xgr_ascend, PrivateUse1, library)
{
    library.impl("mask_filter", &mask_filter);
    library.impl("beam_topk", &beam_topk);
    library.impl("kv_reorder", &kv_reorder);
}

TORCH_LIBRARY_IMPL(xgr_ascend, Meta, library)
{
    library.impl("mask_filter", &check_mask_filter);
    library.impl("beam_topk", &check_beam_topk);
    library.impl("kv_reorder", &check_kv_reorder);
}
