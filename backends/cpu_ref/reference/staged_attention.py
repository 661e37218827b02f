"""Definition of staged_attention: no stages, one plain softmax."""

from __future__ import annotations

import numpy as np

from xgr.backends.cpu_ref.arrays import Array
from xgr.backends.cpu_ref.reference.softmax import attend
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare."""
    return staged_attention


def staged_attention(
    *,
    q: Array,
    k: Array,
    v: Array,
    k_unshared: Array,
    v_unshared: Array,
    prompt_start: Array,
    prompt_len: Array,
    row_start: Array,
    live: Array,
    step: int,
    scale: float,
    out: Array,
    lse: Array,
    ancestors: Array | None = None,
) -> None:
    """Every live row sees its request's prompt and then its own tokens."""
    heads, groups = q.shape[1], k.shape[1]
    slots = np.arange(step)
    out[...], lse[...] = 0, -np.inf
    for b in range(live.size):
        prompt = slice(prompt_start[b], prompt_start[b] + prompt_len[b])
        for r in range(row_start[b], row_start[b] + live[b]):
            holders = np.full(step, r) if ancestors is None else ancestors[r, :step]
            for h in range(heads):
                g = h // (heads // groups)
                keys = np.concatenate([k[prompt, g], k_unshared[holders, slots, g]])  # [L+step, d]
                values = np.concatenate([v[prompt, g], v_unshared[holders, slots, g]])
                out[r, h], lse[r, h] = attend(q[r, h], keys, values, scale)
