"""Definition of unshared_attention."""

from __future__ import annotations

import numpy as np

from xgr.backends.cpu_ref.arrays import Array
from xgr.backends.cpu_ref.reference.softmax import attend
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare."""
    return unshared_attention


def unshared_attention(
    *,
    q: Array,
    k: Array,
    v: Array,
    row_start: Array,
    live: Array,
    step: int,
    scale: float,
    out: Array,
    lse: Array,
    ancestors: Array | None = None,
    bias: Array | None = None,
) -> None:
    """Every live row sees its own tokens: slot j of the row that holds its token j."""
    heads, groups = q.shape[1], k.shape[2]
    slots = np.arange(step)
    out[...], lse[...] = 0, -np.inf
    for b in range(live.size):
        for r in range(row_start[b], row_start[b] + live[b]):
            holders = np.full(step, r) if ancestors is None else ancestors[r, :step]
            for h in range(heads):
                g = h // (heads // groups)
                keys, values = k[holders, slots, g], v[holders, slots, g]  # [step, d]
                by_slot = 0.0 if bias is None else bias[h, :step]
                out[r, h], lse[r, h] = attend(q[r, h], keys, values, scale, by_slot)
