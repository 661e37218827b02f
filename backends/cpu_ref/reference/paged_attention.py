"""Definition of paged_attention."""

from __future__ import annotations

import numpy as np

from xgr.backends.cpu_ref.arrays import Array
from xgr.backends.cpu_ref.reference.softmax import attend
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare."""
    return paged_attention


def paged_attention(
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
    """Every live row sees the tokens that its table leads to."""
    heads, groups, size = q.shape[1], k.shape[2], k.shape[1]
    out[...], lse[...] = 0, -np.inf
    for b in range(live.size):
        token = np.arange(prompt_len[b] + step)
        for r in range(row_start[b], row_start[b] + live[b]):
            block, within = block_table[r, token // size], token % size
            for h in range(heads):
                g = h // (heads // groups)
                keys, values = k[block, within, g], v[block, within, g]  # [tokens, d]
                out[r, h], lse[r, h] = attend(q[r, h], keys, values, scale)
