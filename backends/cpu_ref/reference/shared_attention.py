"""Definition of shared_attention."""

from __future__ import annotations

import numpy as np

from xgr.backends.cpu_ref.arrays import Array
from xgr.backends.cpu_ref.reference.softmax import attend
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare."""
    return shared_attention


def shared_attention(
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
) -> None:
    """Every live row sees all of its request's prompt."""
    heads, groups = q.shape[1], k.shape[1]
    out[...], lse[...] = 0, -np.inf
    for b in range(live.size):
        prompt = slice(prompt_start[b], prompt_start[b] + prompt_len[b])
        for r in range(row_start[b], row_start[b] + live[b]):
            for h in range(heads):
                g = h // (heads // groups)
                out[r, h], lse[r, h] = attend(q[r, h], k[prompt, g], v[prompt, g], scale)
