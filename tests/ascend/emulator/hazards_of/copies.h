// Copies out of bounds, of what is undefined, in units that do not exist.
#pragma once

#include "kernels.h"

inline void hazards_of_copies(const List &add)
{
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
}
