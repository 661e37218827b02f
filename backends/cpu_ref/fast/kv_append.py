"""K/V of live rows into their slot, a slice a request."""

from __future__ import annotations

from xgr.backends.cpu_ref.arrays import Array
from xgr.backends.cpu_ref.rows import live_rows
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Bind to a problem."""
    return _launch


def _launch(
    *,
    k_new: Array,
    v_new: Array,
    row_start: Array,
    live: Array,
    k: Array,
    v: Array,
    step: int,
) -> None:
    for rows in live_rows(row_start, live):
        k[rows, step] = k_new[rows]
        v[rows, step] = v_new[rows]
