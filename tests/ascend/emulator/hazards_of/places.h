// Operands at wrong places, of wrong sizes, and overlapping.
#pragma once

#include "kernels.h"

inline void hazards_of_places(const List &add)
{
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
}
