"""Definition of rope_kv."""

from __future__ import annotations

from xgr.backends.cpu_ref.arrays import Array
from xgr.backends.cpu_ref.reference.rotary import heads_of, rotated
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare."""
    return rope_kv


def rope_kv(
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
    """Each live row is the token at position prompt_len + step."""
    (rows, heads, size), groups = out.shape, k.shape[2]
    parts = heads_of(qkv.reshape(rows, heads + 2 * groups, size), hidden, eps)
    out[...] = 0
    for b in range(live.size):
        angle = cos[prompt_len[b] + step], sin[prompt_len[b] + step]  # [F] each
        for r in range(row_start[b], row_start[b] + live[b]):
            for h in range(heads):
                out[r, h] = rotated(parts[r, h], q_norm, eps, *angle)
            for g in range(groups):
                k[r, step, g] = rotated(parts[r, heads + g], k_norm, eps, *angle)
                v[r, step, g] = parts[r, heads + groups + g]
