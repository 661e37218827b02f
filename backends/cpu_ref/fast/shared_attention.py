"""Shared stage: the rows of a request are the queries, its prompt the keys."""

from __future__ import annotations

from functools import partial

import numpy as np

from xgr.backends.cpu_ref.arrays import Array
from xgr.backends.cpu_ref.fast.attend import BLOCK, attend
from xgr.backends.cpu_ref.rows import dead_rows, live_rows
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare.

    Nor to plan: reading the bounds of a batch costs a microsecond, and a plan that was kept could
    be of another batch than the arrays.
    """
    return partial(_launch, block=context.config.get("block", BLOCK))


@np.errstate(all="ignore")  # a NaN is the caller's, and flows
def _launch(
    *,
    q: Array,
    k: Array,
    v: Array,
    prompt_start: Array,
    prompt_len: Array,
    row_start: Array,
    live: Array,
    scale: float,
    out: Array,
    lse: Array,
    block: int = BLOCK,
) -> None:
    prompts = zip(prompt_start.tolist(), prompt_len.tolist(), strict=True)
    for rows, (start, length) in zip(live_rows(row_start, live), prompts, strict=True):
        if length == 0:
            out[rows], lse[rows] = 0, -np.inf
        else:
            keys = slice(start, start + length)
            attend(q[rows], k[keys], v[keys], scale, out[rows], lse[rows], block=block)
    for rows in dead_rows(row_start, live, len(q)):
        out[rows], lse[rows] = 0, -np.inf
