// Cores that do not wait for each other, and the scalar cache.
#pragma once

#include "kernels.h"

inline void hazards_of_cores(const List &add)
{
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
}
