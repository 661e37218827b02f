// Flags and event ids.
#pragma once

#include "kernels.h"

inline void hazards_of_flags(const List &add)
{
    add("flag_set_twice", [] {
        Loaded k;
        SetFlag<HardEvent::V_S>(0);
        if (wrong) {
            SetFlag<HardEvent::V_S>(0);
        }
        WaitFlag<HardEvent::V_S>(0);
    });
    add("flag_set_before_its_wait", [] {
        Loaded k;
        if (!wrong) {
            Order<HardEvent::V_MTE2>();
        }
        Order<HardEvent::MTE2_V>();
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
}
