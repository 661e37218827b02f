// Order between the pipes of a core, and between cores.
#pragma once

#include "tensor.h"

namespace AscendC {

struct Ends {
    int from;
    int to;
};

inline Ends ends_of(HardEvent event)
{
    using namespace emulated;
    static const Ends ends[] = {
        {MTE2, VECTOR},   {VECTOR, MTE2}, {MTE3, VECTOR},   {VECTOR, MTE3},
        {MTE2, MTE3},     {MTE3, MTE2},   {VECTOR, SCALAR}, {SCALAR, VECTOR},
        {MTE2, SCALAR},   {SCALAR, MTE2}, {MTE3, SCALAR},   {SCALAR, MTE3},
    };
    return ends[static_cast<int>(event)];
}

inline std::string flag_name(Ends ends, int id)
{
    return std::string(emulated::name_of(ends.from)) + "_" + emulated::name_of(ends.to) + " " +
           std::to_string(id);
}

template <HardEvent event> void SetFlag(int32_t id, Site site = Site::here())
{
    emulated::Core &core = emulated::core();
    const Ends ends = ends_of(event);
    if (id < 0 || id >= emulated::EVENT_IDS) {
        core.fail(site, "event id " + std::to_string(id) + ", there are 0 to 7");
    }
    emulated::Flag &flag = core.flags[ends.from][ends.to][id];
    if (flag.set) {
        core.fail(site, "flag " + flag_name(ends, id) + " is set twice with no wait between");
    }
    const emulated::Clock clock = core.completed(ends.from);
    // the scalar unit waits before it goes on; other pipes come to a wait when they come to it
    if (ends.to != emulated::SCALAR && flag.waited > clock.at[ends.to]) {
        core.fail(site, "flag " + flag_name(ends, id) + " is set again while the wait for its "
                        "last setting may be still to come");
    }
    flag.set = true;
    flag.clock = clock;
    flag.line = site.line;
}

template <HardEvent event> void WaitFlag(int32_t id, Site site = Site::here())
{
    emulated::Core &core = emulated::core();
    const Ends ends = ends_of(event);
    if (id < 0 || id >= emulated::EVENT_IDS) {
        core.fail(site, "event id " + std::to_string(id) + ", there are 0 to 7");
    }
    emulated::Flag &flag = core.flags[ends.from][ends.to][id];
    if (!flag.set) {
        core.fail(site, "waits for flag " + flag_name(ends, id) + ", which nothing has set");
    }
    flag.set = false;
    flag.waited = core.issue(ends.to);
    core.knows[ends.to].merge(flag.clock);
}

template <pipe_t pipe> void PipeBarrier()
{
    static_assert(pipe != PIPE_S, "scalar order needs no barrier, and there is none");
    emulated::Core &core = emulated::core();
    if (pipe == PIPE_ALL) {
        core.barrier_all();
    } else {
        core.barrier(pipe == PIPE_V      ? emulated::VECTOR
                     : pipe == PIPE_MTE2 ? emulated::MTE2
                                         : emulated::MTE3);
    }
}

// All cores of the launch meet; what is still in flight then is seen by nobody.
template <bool isAIVOnly = true> void SyncAll(Site site = Site::here())
{
    static_assert(isAIVOnly, "there are only vector cores");
    emulated::Core &core = emulated::core();
    if (core.vector_only) {
        core.fail(site, "SyncAll in a kernel of a kind that cannot meet: "
                        "need KERNEL_TYPE_MIX_AIV_1_0");
    }
    for (int pipe = emulated::VECTOR; pipe < emulated::PIPES; ++pipe) {
        if (core.tick[pipe] > core.knows[emulated::SCALAR].at[pipe]) {
            core.fail(site, std::string("SyncAll while ") + emulated::name_of(pipe) +
                                " is still at work: need PipeBarrier<PIPE_ALL> before");
        }
    }
    emulated::Machine::instance().meet();
}

inline int64_t GetBlockIdx()
{
    return emulated::core().index;
}

inline int64_t GetBlockNum()
{
    return emulated::core().count;
}

}  // namespace AscendC
