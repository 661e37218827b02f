"""Decode: q/k norm, rotation and the K/V write, over all rows of the batch at once."""

from __future__ import annotations

from functools import partial

import numpy as np

from xgr.backends.cpu_ref.fast.rotary import rotated
from xgr.backends.cpu_ref.rows import dead_rows, live_rows
from xgr.backends.cpu_ref.scratch import Array, Scratch
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Bind to a problem."""
    return partial(_launch, Scratch())


@np.errstate(all="ignore")  # dead rows hold anything; a NaN of a live one flows
def _launch(
    scratch: Scratch,
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
) -> None:
    rows, heads, size = out.shape
    groups = k.shape[2]
    owned = int(row_start[-1])
    packed = qkv[:owned].reshape(owned, heads + 2 * groups, size)
    position = np.repeat(prompt_len + step, np.diff(row_start))
    x = rotated(scratch, packed, cos[position], sin[position], q_norm, k_norm, (heads, groups), eps)
    out[:owned] = x[:, :heads]
    for part in live_rows(row_start, live):
        k[part, step] = x[part, heads:]
        v[part, step] = packed[part, heads + groups :]
    for part in dead_rows(row_start, live, rows):
        out[part] = 0
