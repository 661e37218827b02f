"""Definition of beam_ancestors."""

from __future__ import annotations

from xgr.backends.cpu_ref.arrays import Array
from xgr.backends.cpu_ref.parents import sound_requests
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare."""
    return beam_ancestors


def beam_ancestors(
    *,
    ancestors: Array,
    parent: Array,
    row_start: Array,
    live: Array,
    out: Array,
    status: Array,
    step: int,
) -> None:
    """A row's earlier tokens are its parent's; its own and all other slots are in itself."""
    for r in range(out.shape[0]):
        out[r] = r
    for rows in sound_requests(parent, row_start, live, status):
        for r in range(rows.start, rows.stop):
            out[r, :step] = ancestors[parent[r], :step]
