// Numbers without an order, and lists that are not sorted.
#pragma once

#include "kernels.h"

inline void hazards_of_numbers(const List &add)
{
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
}
