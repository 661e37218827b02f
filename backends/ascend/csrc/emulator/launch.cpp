// The kernels on the emulated machine, behind the launch functions that CANN's build would generate.
//
// Where a runtime defines fake_acl_launch, launches go to it, to be run now or, while a stream is
// captured, at each replay; else they run at once.
#include <dlfcn.h>

#include <string>
#include <tuple>
#include <utility>

#include "../host/launch.h"
#include "../kernels/beam_topk.cpp"
#include "../kernels/kv_reorder.cpp"
#include "../kernels/mask_filter.cpp"

namespace {

using Runtime = int (*)(void *stream, void (*run)(const void *blob), const void *blob,
                        size_t bytes);

// The runtime of this process, which need not be visible to libraries loaded after it.
Runtime runtime()
{
    static const Runtime found = [] {
        void *library = dlopen("libascendcl.so", RTLD_LAZY | RTLD_NOLOAD);
        void *symbol = dlsym(library != nullptr ? library : RTLD_DEFAULT, "fake_acl_launch");
        return reinterpret_cast<Runtime>(symbol);
    }();
    return found;
}

std::string error;

// A kernel with its arguments, copied as a launch that is recorded has to keep them.
template <typename... Args> struct Launch {
    void (*kernel)(Args...);
    const char *name;
    uint32_t blocks;
    std::tuple<Args...> arguments;

    // Throws: emulated::Fault for a hazard, which a runtime that runs it later has to report.
    static void run(const void *blob)
    {
        const Launch &self = *static_cast<const Launch *>(blob);
        emulated::Machine::instance().launch(self.name, static_cast<int>(self.blocks), [&] {
            std::apply(self.kernel, self.arguments);
        });
    }
};

template <typename... Args, typename... Given>
uint32_t launch(void (*kernel)(Args...), const char *name, uint32_t blocks, void *stream,
                Given... given)
{
    const Launch<Args...> one{kernel, name, blocks, {(Args)given...}};
    error.clear();
    try {
        if (runtime() != nullptr) {
            return static_cast<uint32_t>(
                runtime()(stream, &Launch<Args...>::run, &one, sizeof(one)));
        }
        Launch<Args...>::run(&one);
    } catch (const std::exception &fault) {
        error = fault.what();
        return 1;
    }
    return 0;
}

}  // namespace

extern "C" {

// Message of the last launch, empty when it met no hazard.
const char *emulated_error()
{
    return error.c_str();
}

// Makes a buffer known. As soon as one is, accesses outside of all of them are errors.
void emulated_buffer(const char *name, const void *start, uint64_t bytes, int writable,
                     int undefined)
{
    emulated::Machine::instance().memory.add(name, start, bytes, writable != 0, undefined != 0);
}

// Bytes of the unified buffer that the last launch reserved on a core.
int64_t emulated_ub()
{
    return emulated::Machine::instance().reserved;
}

// Switches a deliberate fault of a kernel on; an empty name switches it off.
void emulated_fault(const char *name)
{
    emulated::fault() = name;
}

void emulated_forget()
{
    emulated::Machine::instance().memory.forget();
}

// Order of the cores: shuffled by the seed, or with `exact` the seed-th of all orders.
void emulated_order(uint64_t seed, int exact)
{
    emulated::Machine::instance().order = emulated::Order{seed, exact != 0};
}

uint32_t aclrtlaunch_xgr_kv_reorder(uint32_t blocks, void *stream, void *k, void *v, void *parent,
                                    void *row_start, void *live, void *status, void *tiling,
                                    int64_t k_layer, int64_t k_row, int64_t k_slot, int64_t k_head,
                                    int64_t v_layer, int64_t v_row, int64_t v_slot, int64_t v_head,
                                    int32_t step)
{
    return launch(xgr_kv_reorder, "xgr_kv_reorder", blocks, stream, k, v, parent, row_start, live,
                  status, tiling, k_layer, k_row, k_slot, k_head, v_layer, v_row, v_slot, v_head,
                  step);
}

uint32_t aclrtlaunch_xgr_beam_topk(uint32_t blocks, void *stream, void *scores, void *cumulative,
                                   void *row_start, void *live, void *row_start_out,
                                   void *out_width, void *node, void *descriptor, void *codes,
                                   void *first_child, void *tiling, void *workspace, void *parent,
                                   void *code, void *node_out, void *score, void *live_out,
                                   void *status, int64_t scores_row, int64_t nodes_here,
                                   int64_t nodes_above, int32_t level, int32_t ranked,
                                   int32_t phase)
{
    return launch(xgr_beam_topk, "xgr_beam_topk", blocks, stream, scores, cumulative, row_start,
                  live, row_start_out, out_width, node, descriptor, codes, first_child, tiling,
                  workspace, parent, code, node_out, score, live_out, status, scores_row,
                  nodes_here, nodes_above, level, ranked, phase);
}

uint32_t aclrtlaunch_xgr_mask_filter(uint32_t blocks, void *stream, void *scores, void *lse,
                                     void *node, void *row_start, void *live, void *descriptor,
                                     void *codes, void *first_child, void *kind, void *mask,
                                     void *list_start, void *listed, void *words, void *tiling,
                                     void *out, int64_t scores_row, int64_t out_row,
                                     int64_t nodes_here, int64_t nodes_above, int64_t mask_pitch,
                                     int32_t level, int32_t normalize, int32_t type)
{
    return launch(xgr_mask_filter, "xgr_mask_filter", blocks, stream, scores, lse, node, row_start,
                  live, descriptor, codes, first_child, kind, mask, list_start, listed, words,
                  tiling, out, scores_row, out_row, nodes_here, nodes_above, mask_pitch, level,
                  normalize, type);
}

}  // extern "C"
