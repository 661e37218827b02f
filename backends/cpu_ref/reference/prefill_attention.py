"""Definition of prefill_attention."""

from __future__ import annotations

import numpy as np

from xgr.backends.cpu_ref.arrays import Array
from xgr.backends.cpu_ref.buckets import relative_buckets
from xgr.backends.cpu_ref.reference.softmax import attend
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare."""
    return prefill_attention


def prefill_attention(
    *,
    q: Array,
    k: Array,
    v: Array,
    q_start: Array,
    prompt_start: Array,
    prompt_len: Array,
    causal: bool,
    max_distance: int,
    scale: float,
    out: Array,
    bias: Array | None = None,
) -> None:
    """Every token sees its prompt, up to itself when causal."""
    heads, groups = q.shape[1], k.shape[1]
    out[...] = 0
    for b in range(prompt_len.size):
        first = prompt_len[b] - (q_start[b + 1] - q_start[b])  # position of the first query
        for i, row in enumerate(range(q_start[b], q_start[b + 1])):
            position = first + i
            positions = np.arange(position + 1 if causal else prompt_len[b])  # [L]
            keys = prompt_start[b] + positions
            for h in range(heads):
                g = h // (heads // groups)
                by_key: Array | float = 0.0
                if bias is not None:
                    buckets = relative_buckets(
                        positions - position, bias.shape[0], max_distance, bidirectional=not causal
                    )
                    by_key = bias[buckets, h]
                out[row, h], _ = attend(q[row, h], k[keys, g], v[keys, g], scale, by_key)
