// Pipes that do not wait for each other.
#pragma once

#include "kernels.h"

inline void hazards_of_pipes(const List &add)
{
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
}
