"""Decode: q/k norm, rotation and the K/V write; the rows of a request share a position."""

from __future__ import annotations

import numpy as np

from xgr.backends.cpu_ref.arrays import Array
from xgr.backends.cpu_ref.fast.rotary import BLOCK, Rotary, heads_of
from xgr.backends.cpu_ref.rows import dead_rows, live_rows
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare."""
    return _launch


@np.errstate(all="ignore")  # a NaN is the caller's, and flows
def _launch(
    *,
    qkv: Array,
    cos: Array,
    sin: Array,
    prompt_len: Array,
    row_start: Array,
    live: Array,
    k: Array,
    v: Array,
    out: Array,
    step: int,
    eps: float,
    q_norm: Array | None = None,
    k_norm: Array | None = None,
    hidden: Array | None = None,
) -> None:
    (count, heads, size), groups = out.shape, k.shape[2]
    packed = heads_of(qkv.reshape(count, heads + 2 * groups, size), hidden, eps)
    rotary = Rotary((heads, groups), (q_norm, k_norm), eps)
    position = prompt_len + step
    a, b = rotary.coefficients(cos[position], sin[position])
    for request, rows in enumerate(live_rows(row_start, live)):
        for lo in range(rows.start, rows.stop, BLOCK):
            part = slice(lo, min(lo + BLOCK, rows.stop))
            turned = rotary(packed[part], a[request], b[request])
            out[part], k[part, step] = turned[:, :heads], turned[:, heads:]
            v[part, step] = packed[part, heads + groups :]
    for rows in dead_rows(row_start, live, count):
        out[rows] = 0
