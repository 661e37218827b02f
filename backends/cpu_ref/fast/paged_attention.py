"""Paged attention: a row at a time, its blocks gathered and the query heads of a group together."""

from __future__ import annotations

import numpy as np

from xgr.backends.cpu_ref.arrays import Array
from xgr.backends.cpu_ref.fast.attend import attend
from xgr.backends.cpu_ref.rows import dead_rows, live_rows
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare."""
    return _launch


@np.errstate(all="ignore")  # a NaN is the caller's, and flows
def _launch(
    *,
    q: Array,
    k: Array,
    v: Array,
    block_table: Array,
    prompt_len: Array,
    row_start: Array,
    live: Array,
    step: int,
    scale: float,
    out: Array,
    lse: Array,
) -> None:
    tokens = k.shape[1]
    for rows, length in zip(live_rows(row_start, live), (prompt_len + step).tolist(), strict=True):
        if length == 0:
            out[rows], lse[rows] = 0, -np.inf
            continue
        at = np.arange(length)
        column, within = at // tokens, at % tokens
        for r in range(rows.start, rows.stop):
            block, one = block_table[r, column], slice(r, r + 1)
            attend(q[one], k[block, within], v[block, within], scale, out[one], lse[one])
    for rows in dead_rows(row_start, live, len(q)):
        out[rows], lse[rows] = 0, -np.inf
