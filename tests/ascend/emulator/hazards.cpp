// One small kernel for each hazard that the emulator knows: right as it stands, wrong when told so.
#include <functional>
#include <string>
#include <vector>

#include "kernel_operator.h"

using namespace AscendC;

namespace {

constexpr uint32_t N = 256;

float input[N], output[N], scratch[N];

bool wrong = false;

struct Hazard {
    const char *name;
    int cores;
    std::function<void()> kernel;
};

template <HardEvent event> void Order()
{
    const TEventID id = GetTPipePtr()->FetchEventID(event);
    SetFlag<event>(id);
    WaitFlag<event>(id);
}

GlobalTensor<float> Global(float *from, uint64_t count = N)
{
    GlobalTensor<float> tensor;
    tensor.SetGlobalBuffer(from, count);
    return tensor;
}

void Mixed()
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

std::vector<Hazard> hazards()
{
    std::vector<Hazard> all;
    const auto add = [&all](const char *name, std::function<void()> kernel, int cores = 1) {
        all.push_back(Hazard{name, cores, std::move(kernel)});
    };

    // places and sizes
    add("unaligned_operand", [] {
        Loaded k;
        Adds(k.b, k.a[wrong ? 1 : 8], 1.0f, 8);
    });
    add("unified_buffer_overflow", [] {
        TPipe pipe;
        TBuf<TPosition::VECCALC> buffer;
        pipe.InitBuffer(buffer, wrong ? 188161 : 188160);
    });
    add("too_many_buffers", [] {
        TPipe pipe;
        TBuf<TPosition::VECCALC> buffers[65];
        for (int at = 0; at < (wrong ? 65 : 64); ++at) {
            pipe.InitBuffer(buffers[at], 32);
        }
    });
    add("local_tensor_too_short", [] {
        Loaded k;
        Duplicate(k.b, 1.0f, wrong ? N + 8 : N);
    });
    add("global_tensor_too_short", [] {
        Loaded k;
        PipeBarrier<PIPE_ALL>();
        DataCopy(k.a, Global(input, wrong ? 8 : 16), 16);
    });
    add("partial_overlap", [] {
        Loaded k;
        Adds(k.a[wrong ? 8 : 0], k.a, 1.0f, 64);
    });
    add("repeat_reads_what_one_wrote", [] {
        Loaded k;
        BinaryRepeatParams by;
        by.dstRepStride = by.src0RepStride = by.src1RepStride = 8;
        Add(k.a[wrong ? 64 : 0], k.a, k.a, 64, 2, by);
    });
    add("mask_beyond_a_repeat", [] {
        Loaded k;
        Add(k.b, k.a, k.a, wrong ? 65 : 64, 1, BinaryRepeatParams{});
    });
    add("compare_of_part_of_a_repeat", [] {
        Loaded k;
        CompareScalar(k.b.ReinterpretCast<uint8_t>(), k.a, 0.0f, CMPMODE::LT, wrong ? 72 : 64);
    });
    add("order_of_integers", [] {
        Loaded k;
        CompareScalar(k.b.ReinterpretCast<uint8_t>(), k.a.ReinterpretCast<int32_t>(), 0,
                      wrong ? CMPMODE::LT : CMPMODE::EQ, 64);
    });
    add("select_mode", [] {
        Loaded k;
        Duplicate(k.b.ReinterpretCast<uint32_t>(), 5u, 8);
        PipeBarrier<PIPE_V>();
        Select(k.b[8], k.b.ReinterpretCast<uint32_t>(), k.a, 0.0f,
               wrong ? SELMODE::VSEL_TENSOR_TENSOR_MODE : SELMODE::VSEL_TENSOR_SCALAR_MODE, 64);
    });
    add("reduction_works_in_its_source", [] {
        Loaded k;
        ReduceMax(k.b, k.a, wrong ? k.a : k.b[8], 64);
    });
    add("gather_inside_an_element", [] {
        Loaded k;
        Duplicate(k.b.ReinterpretCast<uint32_t>(), wrong ? 6u : 8u, 8);
        PipeBarrier<PIPE_V>();
        Gather(k.b[64], k.a, k.b.ReinterpretCast<uint32_t>(), 0, 8);
    });

    // copies
    add("copy_of_part_of_a_block", [] {
        Loaded k;
        PipeBarrier<PIPE_ALL>();
        DataCopy(k.a, Global(input), wrong ? 12 : 16);
    });
    add("copy_to_veccalc", [] {
        TPipe pipe;
        TBuf<TPosition::VECCALC> calc;
        TBuf<TPosition::VECIN> in;
        pipe.InitBuffer(calc, 64);
        pipe.InitBuffer(in, 64);
        DataCopy(wrong ? calc.Get<float>() : in.Get<float>(), Global(input), 16);
    });
    add("too_many_blocks", [] {
        Loaded k;
        PipeBarrier<PIPE_ALL>();
        const uint16_t blocks = wrong ? 4096 : 4;
        DataCopyPad(k.a, Global(input), DataCopyExtParams{blocks, wrong ? 0u : 4u, 0, 0, 0},
                    DataCopyPadExtParams<float>{});
    });
    add("tail_rounded_up", [] {
        Loaded k;
        PipeBarrier<PIPE_ALL>();
        DataCopy(k.a, Global(input + N - 12, UINT64_MAX), wrong ? 16 : 8);
    });
    add("write_out_of_bounds", [] {
        Loaded k;
        Adds(k.b, k.a, 1.0f, 64);
        Order<HardEvent::V_MTE3>();
        DataCopy(Global(output + N - 8, UINT64_MAX), k.b, wrong ? 16 : 8);
    });
    add("write_into_an_input", [] {
        Loaded k;
        Adds(k.b, k.a, 1.0f, 64);
        Order<HardEvent::V_MTE3>();
        DataCopy(Global(wrong ? input : output), k.b, 8);
    });
    add("undefined_unified_buffer", [] {
        Loaded k;
        Adds(k.b, k.a, 1.0f, 64);
        PipeBarrier<PIPE_V>();
        Adds(k.b, k.b, 1.0f, wrong ? 65 : 64);
    });
    add("undefined_workspace", [] {
        Loaded k;
        PipeBarrier<PIPE_ALL>();
        DataCopy(k.a, Global(wrong ? scratch : input), 8);
    });
    add("undefined_tail_of_gathered", [] {
        Loaded k;
        Duplicate(k.b.ReinterpretCast<uint32_t>(), 5u, 8);
        PipeBarrier<PIPE_V>();
        uint64_t kept = 0;
        GatherMask(k.b[64], k.a, k.b.ReinterpretCast<uint32_t>(), true, 64,
                   GatherMaskParams{1, 1, 8, 8}, kept);
        PipeBarrier<PIPE_V>();
        Adds(k.b[128], k.b[64], 1.0f, wrong ? 8 : static_cast<int32_t>(kept));
    });
    add("freed_tensor_read_again", [] {
        TPipe pipe;
        TQue<TPosition::VECIN, 1> queue;
        TBuf<TPosition::VECCALC> calc;
        pipe.InitBuffer(queue, 1, 64);
        pipe.InitBuffer(calc, 64);
        LocalTensor<float> tensor = queue.AllocTensor<float>();
        DataCopy(tensor, Global(input), 16);
        queue.EnQue(tensor);
        tensor = queue.DeQue<float>();
        queue.FreeTensor(tensor);
        tensor = queue.AllocTensor<float>();
        if (!wrong) {
            DataCopy(tensor, Global(input), 16);
        }
        queue.EnQue(tensor);
        tensor = queue.DeQue<float>();
        Adds(calc.Get<float>(), tensor, 1.0f, 16);
        queue.FreeTensor(tensor);
    });

    // queues
    add("queue_without_buffers", [] {
        TPipe pipe;
        TQue<TPosition::VECIN, 1> queue;
        if (!wrong) {
            pipe.InitBuffer(queue, 1, 32);
        }
        LocalTensor<float> tensor = queue.AllocTensor<float>();
        queue.FreeTensor(tensor);
    });
    add("more_tensors_than_buffers", [] {
        TPipe pipe;
        TQue<TPosition::VECIN, 2> queue;
        pipe.InitBuffer(queue, 2, 32);
        LocalTensor<float> tensors[3];
        for (int at = 0; at < (wrong ? 3 : 2); ++at) {
            tensors[at] = queue.AllocTensor<float>();
        }
        queue.FreeTensor(tensors[0]);
        queue.FreeTensor(tensors[1]);
    });
    add("more_than_eight_outstanding", [] {
        TPipe pipe;
        TQue<TPosition::VECIN, 1> first, second;
        pipe.InitBuffer(first, 4, 32);
        // a second queue has its own ids only as far as they go
        pipe.InitBuffer(second, 4, 32);
        LocalTensor<float> tensors[9];
        for (int at = 0; at < 8; ++at) {
            tensors[at] = at < 4 ? first.AllocTensor<float>() : second.AllocTensor<float>();
        }
        if (wrong) {
            tensors[8] = second.AllocTensor<float>();
        }
        for (int at = 0; at < 8; ++at) {
            at < 4 ? first.FreeTensor(tensors[at]) : second.FreeTensor(tensors[at]);
        }
    });
    add("enqueue_beyond_depth", [] {
        TPipe pipe;
        TQue<TPosition::VECIN, 1> queue;
        pipe.InitBuffer(queue, 2, 32);
        for (int at = 0; at < 2; ++at) {
            LocalTensor<float> tensor = queue.AllocTensor<float>();
            DataCopy(tensor, Global(input), 8);
            queue.EnQue(tensor);
            if (!wrong) {
                tensor = queue.DeQue<float>();
                queue.FreeTensor(tensor);
            }
        }
    });
    add("enqueue_twice", [] {
        TPipe pipe;
        TQue<TPosition::VECIN, 2> queue;
        pipe.InitBuffer(queue, 2, 32);
        LocalTensor<float> tensor = queue.AllocTensor<float>();
        queue.EnQue(tensor);
        if (wrong) {
            queue.EnQue(tensor);
        }
        tensor = queue.DeQue<float>();
        queue.FreeTensor(tensor);
    });
    add("dequeue_from_empty", [] {
        TPipe pipe;
        TQue<TPosition::VECIN, 1> queue;
        pipe.InitBuffer(queue, 1, 32);
        LocalTensor<float> tensor = queue.AllocTensor<float>();
        if (!wrong) {
            queue.EnQue(tensor);
        }
        tensor = queue.DeQue<float>();
        queue.FreeTensor(tensor);
    });
    add("free_twice", [] {
        TPipe pipe;
        TQue<TPosition::VECIN, 1> queue;
        pipe.InitBuffer(queue, 1, 32);
        LocalTensor<float> tensor = queue.AllocTensor<float>();
        queue.FreeTensor(tensor);
        if (wrong) {
            queue.FreeTensor(tensor);
        }
    });
    add("free_while_queued", [] {
        TPipe pipe;
        TQue<TPosition::VECIN, 1> queue;
        pipe.InitBuffer(queue, 1, 32);
        LocalTensor<float> tensor = queue.AllocTensor<float>();
        queue.EnQue(tensor);
        if (!wrong) {
            queue.DeQue<float>();
        }
        queue.FreeTensor(tensor);
    });
    add("tensor_of_another_queue", [] {
        TPipe pipe;
        TQue<TPosition::VECIN, 1> first, second;
        pipe.InitBuffer(first, 1, 32);
        pipe.InitBuffer(second, 1, 32);
        LocalTensor<float> tensor = first.AllocTensor<float>();
        wrong ? second.FreeTensor(tensor) : first.FreeTensor(tensor);
    });
    add("tensor_never_freed", [] {
        TPipe pipe;
        TQue<TPosition::VECIN, 1> queue;
        pipe.InitBuffer(queue, 1, 32);
        LocalTensor<float> tensor = queue.AllocTensor<float>();
        if (!wrong) {
            queue.FreeTensor(tensor);
        }
    });

    // pipes
    add("compute_before_load", [] {
        Loaded k;
        Order<HardEvent::V_MTE2>();
        DataCopy(k.a, Global(input), 64);
        if (!wrong) {
            Order<HardEvent::MTE2_V>();
        }
        Adds(k.b, k.a, 1.0f, 64);
    });
    add("store_before_compute", [] {
        Loaded k;
        Adds(k.b, k.a, 1.0f, 64);
        if (!wrong) {
            Order<HardEvent::V_MTE3>();
        }
        DataCopy(Global(output), k.b, 64);
    });
    add("scalar_reads_before_vector", [] {
        Loaded k;
        Adds(k.b, k.a, 1.0f, 64);
        if (!wrong) {
            Order<HardEvent::V_S>();
        }
        k.b.GetValue(0);
    });
    add("vector_reads_before_scalar", [] {
        Loaded k;
        k.b.SetValue(0, 1.0f);
        if (!wrong) {
            Order<HardEvent::S_V>();
        }
        Adds(k.b[8], k.b, 1.0f, 1);
    });
    add("scalar_reads_before_load", [] {
        Loaded k;
        if (!wrong) {
            Order<HardEvent::MTE2_S>();
        }
        k.a.GetValue(0);
    });
    add("store_before_scalar", [] {
        Loaded k;
        for (int at = 0; at < 8; ++at) {
            k.b.SetValue(at, 1.0f);
        }
        if (!wrong) {
            Order<HardEvent::S_MTE3>();
        }
        DataCopy(Global(output), k.b, 8);
    });
    add("no_barrier_between_vectors", [] {
        Loaded k;
        Adds(k.b, k.a, 1.0f, 64);
        if (!wrong) {
            PipeBarrier<PIPE_V>();
        }
        Adds(k.b[64], k.b, 1.0f, 64);
    });
    add("load_over_what_is_computed_on", [] {
        Loaded k;
        Adds(k.b, k.a, 1.0f, 64);
        if (!wrong) {
            Order<HardEvent::V_MTE2>();
        }
        PipeBarrier<PIPE_MTE2>();
        DataCopy(k.a, Global(input), 64);
    });
    add("load_over_what_is_stored", [] {
        Loaded k;
        Adds(k.b, k.a, 1.0f, 64);
        Order<HardEvent::V_MTE3>();
        DataCopy(Global(output), k.b, 64);
        Order<HardEvent::V_MTE2>();
        if (!wrong) {
            Order<HardEvent::MTE3_MTE2>();
        }
        DataCopy(k.b, Global(input), 64);
    });
    add("compute_over_what_is_stored", [] {
        Loaded k;
        Adds(k.b, k.a, 1.0f, 64);
        Order<HardEvent::V_MTE3>();
        DataCopy(Global(output), k.b, 64);
        PipeBarrier<PIPE_V>();
        if (!wrong) {
            Order<HardEvent::MTE3_V>();
        }
        Duplicate(k.b, 0.0f, 64);
    });
    add("stores_that_overlap", [] {
        Loaded k;
        Adds(k.b, k.a, 1.0f, 64);
        Order<HardEvent::V_MTE3>();
        DataCopy(Global(output), k.b, 16);
        if (!wrong) {
            PipeBarrier<PIPE_MTE3>();
        }
        DataCopy(Global(output)[8], k.b[16], 16);
    });
    add("load_of_what_is_being_stored", [] {
        Loaded k;
        Adds(k.b, k.a, 1.0f, 64);
        Order<HardEvent::V_MTE3>();
        DataCopy(Global(output), k.b, 64);
        if (!wrong) {
            Order<HardEvent::MTE3_MTE2>();
        }
        PipeBarrier<PIPE_MTE2>();
        Order<HardEvent::V_MTE2>();
        DataCopy(k.a, Global(output), 64);
    });

    // flags
    add("flag_set_twice", [] {
        Loaded k;
        SetFlag<HardEvent::V_S>(0);
        if (wrong) {
            SetFlag<HardEvent::V_S>(0);
        }
        WaitFlag<HardEvent::V_S>(0);
    });
    add("wait_for_nothing", [] {
        Loaded k;
        SetFlag<HardEvent::V_S>(0);
        WaitFlag<HardEvent::V_S>(wrong ? 1 : 0);
    });
    add("flag_never_awaited", [] {
        Loaded k;
        SetFlag<HardEvent::V_S>(0);
        if (!wrong) {
            WaitFlag<HardEvent::V_S>(0);
        }
    });
    add("no_such_event_id", [] {
        Loaded k;
        SetFlag<HardEvent::V_S>(wrong ? 8 : 7);
        WaitFlag<HardEvent::V_S>(7);
    });
    add("event_ids_exhausted", [] {
        TPipe pipe;
        for (int at = 0; at < (wrong ? 9 : 8); ++at) {
            pipe.AllocEventID<HardEvent::V_S>();
        }
        for (int8_t at = 0; at < 8; ++at) {
            pipe.ReleaseEventID<HardEvent::V_S>(at);
        }
    });
    add("event_id_never_released", [] {
        TPipe pipe;
        const TEventID id = pipe.AllocEventID<HardEvent::V_S>();
        if (!wrong) {
            pipe.ReleaseEventID<HardEvent::V_S>(id);
        }
    });
    add("event_id_released_twice", [] {
        TPipe pipe;
        const TEventID id = pipe.AllocEventID<HardEvent::V_S>();
        pipe.ReleaseEventID<HardEvent::V_S>(id);
        if (wrong) {
            pipe.ReleaseEventID<HardEvent::V_S>(id);
        }
    });

    // cores
    add("two_cores_write_one_byte", [] {
        Loaded k;
        Adds(k.b, k.a, 1.0f, 64);
        Order<HardEvent::V_MTE3>();
        // neighbours in one line of 32 bytes do not disturb each other
        const uint32_t bytes = wrong ? 8 : 4;
        DataCopyPad(Global(output)[GetBlockIdx()], k.b, DataCopyExtParams{1, bytes, 0, 0, 0});
    }, 2);
    add("read_of_another_cores_write", [] {
        Mixed();
        Loaded k;
        Adds(k.b, k.a, 1.0f, 64);
        Order<HardEvent::V_MTE3>();
        if (GetBlockIdx() == 0) {
            DataCopy(Global(output), k.b, 64);
        }
        PipeBarrier<PIPE_ALL>();
        if (!wrong) {
            SyncAll();
        }
        if (GetBlockIdx() == 1) {
            DataCopy(k.a, Global(output), 64);
        }
    }, 2);
    add("meeting_in_flight", [] {
        Mixed();
        Loaded k;
        Adds(k.b, k.a, 1.0f, 64);
        if (!wrong) {
            PipeBarrier<PIPE_ALL>();
        }
        SyncAll();
    }, 2);
    add("meeting_in_a_vector_kernel", [] {
        if (!wrong) {
            Mixed();
        }
        SyncAll();
    }, 2);
    add("a_core_does_not_come", [] {
        Mixed();
        if (!wrong || GetBlockIdx() == 0) {
            SyncAll();
        }
    }, 2);
    add("scalar_write_to_global", [] {
        Loaded k;
        if (wrong) {
            Global(output).SetValue(0, 1.0f);
        }
    });
    add("scalar_cache_is_stale", [] {
        Loaded k;
        Adds(k.b, k.a, 1.0f, 64);
        Order<HardEvent::V_MTE3>();
        DataCopy(Global(output), k.b, 8);
        PipeBarrier<PIPE_ALL>();
        Global(wrong ? output : input).GetValue(0);
    });

    // order of numbers
    add("nan_in_max", [] {
        Loaded k;
        Duplicate(k.b, wrong ? __builtin_nanf("") : 1.0f, 8);
        PipeBarrier<PIPE_V>();
        Max(k.b[8], k.b, k.a, 8);
    });
    add("nan_in_compare", [] {
        Loaded k;
        Duplicate(k.b, wrong ? __builtin_nanf("") : 1.0f, 64);
        PipeBarrier<PIPE_V>();
        CompareScalar(k.b[64].ReinterpretCast<uint8_t>(), k.b, 0.0f, CMPMODE::LT, 64);
    });
    add("nan_in_reduction", [] {
        Loaded k;
        Duplicate(k.b, wrong ? __builtin_nanf("") : 1.0f, 64);
        PipeBarrier<PIPE_V>();
        ReduceMax(k.b[64], k.b, k.b[128], 64);
    });
    add("nan_in_sort", [] {
        Pairs k(wrong ? __builtin_nanf("") : 0.0f);
        k.sort();
    });
    add("sort_of_too_much", [] {
        Pairs k;
        k.sort(wrong ? 256 : 4);
    });
    add("sort_to_an_unaligned_place", [] {
        Pairs k;
        Sort32(k.merged[wrong ? 8 : 64], k.scores, k.room[3].Get<uint32_t>(), 1);
    });
    add("merge_of_unsorted", [] {
        Pairs k;
        k.sort();
        if (wrong) {
            Duplicate(k.pairs, -1.0f, 8);
            PipeBarrier<PIPE_V>();
        }
        k.merge();
    });
    add("merge_of_a_long_list", [] {
        Pairs k;
        k.sort();
        k.merge(wrong ? 4096 : 32);
    });
    add("merge_of_one_list", [] {
        Pairs k;
        k.sort();
        k.merge(32, wrong ? 1 : 3);
    });
    add("merge_in_place", [] {
        Pairs k;
        k.sort();
        k.merge(32, 3, !wrong);
    });
    return all;
}

const std::vector<Hazard> &known()
{
    static const std::vector<Hazard> all = hazards();
    return all;
}

std::string message;

}  // namespace

extern "C" {

const char *hazard_name(int at)
{
    return at < static_cast<int>(known().size()) ? known()[at].name : nullptr;
}

// Runs a kernel, right or wrong; the emulator's message, empty when it found nothing.
const char *hazard_run(int at, int is_wrong)
{
    emulated::Machine &machine = emulated::Machine::instance();
    machine.memory.forget();
    for (uint32_t i = 0; i < N; ++i) {
        input[i] = static_cast<float>(i);
    }
    machine.memory.add("input", input, sizeof(input), false, false);
    machine.memory.add("output", output, sizeof(output), true, false);
    machine.memory.add("scratch", scratch, sizeof(scratch), true, true);
    wrong = is_wrong != 0;
    message.clear();
    try {
        machine.launch(known()[at].name, known()[at].cores, known()[at].kernel);
    } catch (const std::exception &fault) {
        message = fault.what();
    }
    return message.c_str();
}

}  // extern "C"
