"""Merge of attention parts in Triton."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
# triton compiles `merge_kernel` from its source; its arguments are no Python values

from __future__ import annotations

from collections.abc import Sequence

import torch
import triton
import triton.language as tl

from xgr.backends.cuda.staged_attention.blocks import load_tile, store_tile
from xgr.backends.cuda.staged_attention.heuristic import power_of_two
from xgr.backends.cuda.staged_attention.launch import strides
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher

# elements of a block, 16 a thread
BLOCK = 2048


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare; the number of parts is read from the call."""
    a = problem.sizes
    columns = power_of_two(a["d"])
    vectors = max(1, BLOCK // columns)
    count, heads, size = a["R"] * a["H"], a["H"], a["d"]
    grid = (triton.cdiv(count, vectors),)

    def launch(
        *,
        outs: Sequence[torch.Tensor],
        lses: Sequence[torch.Tensor],
        out: torch.Tensor,
        lse: torch.Tensor,
    ) -> None:
        merge_kernel[grid](
            tuple(outs), tuple(lses), out, lse,
            tuple(strides("outs", part) for part in outs),
            tuple(strides("lses", part) for part in lses),
            strides("out", out), strides("lse", lse),
            count, heads, size, len(outs), vectors, columns,
        )  # fmt: skip

    return launch


@triton.jit
def merge_kernel(
    outs, lses, out, lse, outs_at, lses_at, out_at, lse_at, count,
    HEADS: tl.constexpr,
    SIZE: tl.constexpr,
    PARTS: tl.constexpr,
    VECTORS: tl.constexpr,
    BLOCK_D: tl.constexpr,
):  # fmt: skip
    """Grid: blocks of VECTORS of the `count` vectors of SIZE elements, each a row's head.

    What it takes:
        outs, lses: PARTS tensors [R, HEADS, SIZE] and float32 [R, HEADS].
        out, lse: the same, of all parts together.
        outs_at, lses_at, out_at, lse_at: strides of all axes but the last, whose stride is 1.
        count: R * HEADS.
    """
    vector = tl.program_id(0).to(tl.int64) * VECTORS + tl.arange(0, VECTORS)
    inside = vector < count
    row, head = vector // HEADS, vector % HEADS
    top = tl.full([VECTORS], float("-inf"), tl.float32)
    for part in tl.static_range(PARTS):
        stat = tl.load(lses[part] + row * lses_at[part][0] + head, mask=inside, other=0.0)
        top = tl.maximum(top, stat)
    base = tl.where(top == float("-inf"), 0.0, top)  # all parts empty: -inf - -inf would be NaN
    acc = tl.zeros([VECTORS, BLOCK_D], tl.float32)
    total = tl.zeros([VECTORS], tl.float32)
    for part in tl.static_range(PARTS):
        stat = tl.load(lses[part] + row * lses_at[part][0] + head, mask=inside, other=0.0)
        weight = tl.exp(stat - base)
        rows = outs[part] + row * outs_at[part][0] + head * outs_at[part][1]
        full = inside & (stat != float("-inf"))  # an empty part's vector is not read
        acc += weight[:, None] * load_tile(rows, full, SIZE, BLOCK_D).to(tl.float32)
        total += weight
    total = tl.where(total == 0, 1.0, total)
    store_tile(
        out + row * out_at[0] + head * out_at[1], acc / total[:, None], inside, SIZE, BLOCK_D
    )
    tl.store(lse + row * lse_at[0] + head, top + tl.log(total), mask=inside)
