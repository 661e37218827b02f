"""The precondition of kv_reorder and beam_ancestors, checked where the parents lie."""

from __future__ import annotations

from xgr.backends.cpu_ref.arrays import Array
from xgr.backends.cpu_ref.rows import live_rows
from xgr.ops.kv_reorder import BAD_PARENT


def sound_requests(parent: Array, row_start: Array, live: Array, status: Array) -> list[slice]:
    """Live rows of the requests whose parents ascend within their own rows; others get a bit."""
    sound = []
    ends = row_start[1:].tolist()
    for request, (rows, end) in enumerate(zip(live_rows(row_start, live), ends, strict=True)):
        mine = parent[rows]
        if mine.size == 0:
            continue
        if mine[0] < rows.start or mine[-1] >= end or (mine[1:] < mine[:-1]).any():
            status[request] |= BAD_PARENT
        else:
            sound.append(rows)
    return sound
