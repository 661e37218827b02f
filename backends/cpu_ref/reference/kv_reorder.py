"""Definition of kv_reorder: every row reads the state before."""

from __future__ import annotations

from xgr.backends.cpu_ref.arrays import Array
from xgr.backends.cpu_ref.parents import sound_requests
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare."""
    return kv_reorder


def kv_reorder(
    *,
    k: Array,
    v: Array,
    parent: Array,
    row_start: Array,
    live: Array,
    status: Array,
    step: int,
) -> None:
    """Caches [L, R, S, G, d]: valid slots of live rows become their parent's."""
    for cache in (k, v):
        before = cache.copy()
        for rows in sound_requests(parent, row_start, live, status):
            for r in range(rows.start, rows.stop):
                cache[:, r, :step] = before[:, parent[r], :step]
