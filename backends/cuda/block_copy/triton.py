# Triton's language has no types:
# mypy: disable-error-code="no-untyped-def,untyped-decorator"
"""block_copy: a program a piece of a block, in one layer, of keys and of values."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from xgr.backends.cuda.strides import need_dense_rows
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher

# elements of keys that a program copies, and as many of values
_ELEMENTS = 4096


def build(problem: Problem, context: Context) -> Launcher:
    """Tunable: `elements` that a program copies of keys, a power of two."""
    a = problem.sizes
    block_d = triton.next_power_of_2(a["d"])
    vectors = a["BT"] * a["G"]
    some = max(1, context.config.get("elements", _ELEMENTS) // block_d)
    block_v = min(some, triton.next_power_of_2(vectors))
    grid = (triton.cdiv(vectors, block_v), a["N"], a["L"])

    def block_copy(
        *, k: torch.Tensor, v: torch.Tensor, source: torch.Tensor, target: torch.Tensor
    ) -> None:
        need_dense_rows("block_copy", k=k, v=v, source=source, target=target)
        _block_copy[grid](
            k, v, source, target, k.stride()[:4], v.stride()[:4],
            VECTORS=vectors, G=a["G"], D=a["d"], BLOCK_V=block_v, BLOCK_D=block_d,
        )  # fmt: skip

    return block_copy


@triton.jit
def _block_copy(
    k, v, source, target, k_at, v_at,
    VECTORS: tl.constexpr, G: tl.constexpr, D: tl.constexpr,
    BLOCK_V: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    pair, layer = tl.program_id(1), tl.program_id(2).to(tl.int64)
    end = tl.load(target + pair).to(tl.int64)
    if end < 0:
        return
    begin = tl.load(source + pair).to(tl.int64)
    vector, column = tl.program_id(0) * BLOCK_V + tl.arange(0, BLOCK_V), tl.arange(0, BLOCK_D)
    mask = (vector < VECTORS)[:, None] & (column < D)[None, :]
    token, head = (vector // G)[:, None], (vector % G)[:, None]
    k += layer * k_at[0] + token * k_at[2] + head * k_at[3] + column[None, :]
    v += layer * v_at[0] + token * v_at[2] + head * v_at[3] + column[None, :]
    keys = tl.load(k + begin * k_at[1], mask=mask)
    values = tl.load(v + begin * v_at[1], mask=mask)
    tl.store(k + end * k_at[1], keys, mask=mask)
    tl.store(v + end * v_at[1], values, mask=mask)
