// What the small kernels have in common: buffers, loaded tensors, sorted pairs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernel_operator.h"

using namespace AscendC;

constexpr uint32_t N = 256;

inline float input[N], output[N], scratch[N];

// Whether kernels are to be wrong.
inline bool wrong = false;

struct Hazard {
    const char *name;
    int cores;
    std::function<void()> kernel;
};

// Adds a kernel to the list.
struct List {
    std::vector<Hazard> &all;

    void operator()(const char *name, std::function<void()> kernel, int cores = 1) const
    {
        all.push_back(Hazard{name, cores, std::move(kernel)});
    }
};

template <HardEvent event> void Order()
{
    const TEventID id = GetTPipePtr()->FetchEventID(event);
    SetFlag<event>(id);
    WaitFlag<event>(id);
}

inline GlobalTensor<float> Global(float *from, uint64_t count = N)
{
    GlobalTensor<float> tensor;
    tensor.SetGlobalBuffer(from, count);
    return tensor;
}

inline void Mixed()
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0);
}

// Two buffers of floats that copies may use, the first of them loaded.
struct Loaded {
    TPipe pipe;
    TBuf<TPosition::VECIN> in;
    TBuf<TPosition::VECOUT> out;
    LocalTensor<float> a, b;

    Loaded()
    {
        pipe.InitBuffer(in, N * sizeof(float));
        pipe.InitBuffer(out, N * sizeof(float));
        a = in.Get<float>();
        b = out.Get<float>();
        DataCopy(a, Global(input), N);
        Order<HardEvent::MTE2_V>();
    }
};

// Pairs of a score and an index, sorted by 32.
struct Pairs {
    TPipe pipe;
    TBuf<TPosition::VECCALC> room[4];
    LocalTensor<float> pairs, merged, scores;

    explicit Pairs(float last = 0.0f)
    {
        for (TBuf<TPosition::VECCALC> &one : room) {
            pipe.InitBuffer(one, 4096);
        }
        pairs = room[0].Get<float>();
        merged = room[1].Get<float>();
        scores = room[2].Get<float>();
        Duplicate(scores, 1.0f, 128);
        PipeBarrier<PIPE_V>();
        Duplicate(scores[120], last, 8);
        Duplicate(room[3].Get<uint32_t>(), 0u, 128);
        PipeBarrier<PIPE_V>();
    }

    void sort(int32_t repeats = 4)
    {
        Sort32(pairs, scores, room[3].Get<uint32_t>(), repeats);
        PipeBarrier<PIPE_V>();
    }

    void merge(uint16_t first = 32, uint16_t valid = 3, bool apart = true)
    {
        MrgSort4Info info;
        info.elementLengths[0] = first;
        info.elementLengths[1] = 32;
        info.validBit = valid;
        MrgSort(apart ? merged : pairs,
                MrgSortSrcList<float>(pairs, pairs[64], pairs[128], pairs[192]), info);
    }
};
