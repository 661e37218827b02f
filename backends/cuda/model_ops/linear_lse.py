# Triton's language has no types:
# mypy: disable-error-code="no-untyped-def,untyped-decorator"
"""linear_lse: tiles of logits that never leave the registers, then one merge of their sums."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from xgr.backends.cuda.device import interpreting
from xgr.backends.cuda.strides import need_dense_rows
from xgr.ops.dtype import float32
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Workspace: maximum and sum of each row's tile, float32 [tiles, R] each."""
    sizes = problem.sizes
    rows, columns, inner = sizes["R"], sizes["V"], sizes["h"]
    wide = problem.dtype == "float32"
    block_m = 64 if wide or rows <= 64 else 128
    block_n, block_k = (64, 32) if wide else (128, 64)
    row_tiles, tiles = triton.cdiv(rows, block_m), triton.cdiv(columns, block_n)
    most = context.empty((tiles, rows), float32)
    total = context.empty((tiles, rows), float32)
    block_t = min(triton.next_power_of_2(tiles), 1024)

    def linear_lse(*, hidden: torch.Tensor, head: torch.Tensor, lse: torch.Tensor) -> None:
        need_dense_rows("linear_lse", hidden=hidden, head=head, lse=lse)
        # row tiles are the fast axis: those of one column tile run together and share the head
        _tile_sums[(row_tiles, tiles)](
            hidden, head, most, total, hidden.stride(0), head.stride(0), rows, columns, inner,
            BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=block_k, CAST=interpreting(),
            num_warps=8 if wide or block_m == 128 else 4, num_stages=3,
        )  # fmt: skip
        _merge[(rows,)](most, total, lse, rows, tiles, BLOCK=block_t)

    return linear_lse


@triton.jit(do_not_specialize=["rows"])
def _tile_sums(
    hidden, head, most, total, hidden_stride, head_stride, rows, columns,
    INNER: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    CAST: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    tile = tl.program_id(1)
    column = tile * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    x = hidden + row.to(tl.int64)[:, None] * hidden_stride + k[None, :]
    w = head + column.to(tl.int64)[None, :] * head_stride + k[:, None]
    row_in, column_in = (row < rows)[:, None], (column < columns)[None, :]
    logits = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for at in range(0, INNER, BLOCK_K):
        if INNER % BLOCK_K == 0:
            a = tl.load(x + at, mask=row_in, other=0)
            b = tl.load(w + at, mask=column_in, other=0)
        else:
            a = tl.load(x + at, mask=row_in & (at + k < INNER)[None, :], other=0)
            b = tl.load(w + at, mask=column_in & (at + k < INNER)[:, None], other=0)
        if CAST:  # the interpreter multiplies no bfloat16
            a, b = a.to(tl.float32), b.to(tl.float32)
        logits = tl.dot(a, b, logits, input_precision="ieee")
    logits = tl.where(column_in, logits, float("-inf"))
    greatest = tl.max(logits, axis=1)
    place = tile.to(tl.int64) * rows + row
    tl.store(most + place, greatest, mask=row < rows)
    tl.store(total + place, tl.sum(tl.exp(logits - greatest[:, None]), axis=1), mask=row < rows)


@triton.jit(do_not_specialize=["rows", "tiles"])
def _merge(most, total, lse, rows, tiles, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    greatest = tl.full([BLOCK], float("-inf"), tl.float32)
    for at in range(0, tiles, BLOCK):
        tile = at + tl.arange(0, BLOCK)
        place = most + tile.to(tl.int64) * rows + row
        greatest = tl.maximum(greatest, tl.load(place, mask=tile < tiles, other=float("-inf")))
    top = tl.max(greatest, axis=0)
    sums = tl.zeros([BLOCK], tl.float32)
    for at in range(0, tiles, BLOCK):
        tile = at + tl.arange(0, BLOCK)
        place, inside = tile.to(tl.int64) * rows + row, tile < tiles
        share = tl.exp(tl.load(most + place, mask=inside, other=float("-inf")) - top)
        sums += tl.load(total + place, mask=inside, other=0) * share
    tl.store(lse + row, top + tl.log(tl.sum(sums, axis=0)))
