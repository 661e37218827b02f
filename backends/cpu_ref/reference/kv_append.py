"""Definition of kv_append."""

from __future__ import annotations

from xgr.backends.cpu_ref.arrays import Array
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare."""
    return kv_append


def kv_append(
    *,
    k_new: Array,
    v_new: Array,
    row_start: Array,
    live: Array,
    k: Array,
    v: Array,
    step: int,
) -> None:
    """Slot `step` of every live row."""
    for b in range(live.size):
        for r in range(row_start[b], row_start[b] + live[b]):
            k[r, step] = k_new[r]
            v[r, step] = v_new[r]
