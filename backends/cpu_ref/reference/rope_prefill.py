"""Definition of rope_prefill."""

from __future__ import annotations

from xgr.backends.cpu_ref.arrays import Array
from xgr.backends.cpu_ref.reference.rotary import heads_of, rotated
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare."""
    return rope_prefill


def rope_prefill(
    *,
    qkv: Array,
    cos: Array,
    sin: Array,
    q_start: Array,
    prompt_start: Array,
    prompt_len: Array,
    k: Array,
    v: Array,
    out: Array,
    eps: float,
    q_norm: Array | None = None,
    k_norm: Array | None = None,
    hidden: Array | None = None,
) -> None:
    """The tokens of a request are the last ones of its prompt."""
    (rows, heads, size), groups = out.shape, k.shape[1]
    parts = heads_of(qkv.reshape(rows, heads + 2 * groups, size), hidden, eps)
    out[...] = 0
    for b in range(prompt_len.size):
        first = prompt_len[b] - (q_start[b + 1] - q_start[b])  # position of the first token
        for i, row in enumerate(range(q_start[b], q_start[b + 1])):
            angle = cos[first + i], sin[first + i]  # [F] each
            target = prompt_start[b] + first + i
            for h in range(heads):
                out[row, h] = rotated(parts[row, h], q_norm, eps, *angle)
            for g in range(groups):
                k[target, g] = rotated(parts[row, heads + g], k_norm, eps, *angle)
                v[target, g] = parts[row, heads + groups + g]
