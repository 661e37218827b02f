"""Definition of rope_paged."""

from __future__ import annotations

from xgr.backends.cpu_ref.arrays import Array
from xgr.backends.cpu_ref.reference.rotary import heads_of, rotated
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare."""
    return rope_paged


def rope_paged(
    *,
    qkv: Array,
    cos: Array,
    sin: Array,
    block_table: Array,
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
    """Each live row is the token at position prompt_len + step of its table."""
    (rows, heads, size), (tokens, groups) = out.shape, k.shape[1:3]
    parts = heads_of(qkv.reshape(rows, heads + 2 * groups, size), hidden, eps)
    out[...] = 0
    for b in range(live.size):
        position = prompt_len[b] + step
        angle = cos[position], sin[position]  # [F] each
        for r in range(row_start[b], row_start[b] + live[b]):
            block, within = block_table[r, position // tokens], position % tokens
            for h in range(heads):
                out[r, h] = rotated(parts[r, h], q_norm, eps, *angle)
            for g in range(groups):
                k[block, within, g] = rotated(parts[r, heads + g], k_norm, eps, *angle)
                v[block, within, g] = parts[r, heads + groups + g]
