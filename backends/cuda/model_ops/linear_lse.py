# Triton's language has no types:
# mypy: disable-error-code="no-untyped-def,untyped-decorator"
"""linear_lse: tiles of logits that never leave the registers, then one merge of their sums."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from xgr.backends.cuda.device import architecture, interpreting
from xgr.backends.cuda.strides import need_dense_rows
from xgr.ops.dtype import float32
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher

# rows and tiles that a program of the merge holds
MERGE_R, MERGE_T = 8, 256


def build(problem: Problem, context: Context) -> Launcher:
    """Workspace: log-sum-exp of each row in each tile of columns, float32 [tiles, R]."""
    sizes = problem.sizes
    rows, columns, inner = sizes["R"], sizes["V"], sizes["h"]
    shape = tile_shape(problem.dtype, rows)
    row_tiles, tiles = triton.cdiv(rows, shape["BLOCK_M"]), triton.cdiv(columns, shape["BLOCK_N"])
    parts = context.empty((tiles, rows), float32)

    def linear_lse(*, hidden: torch.Tensor, head: torch.Tensor, lse: torch.Tensor) -> None:
        need_dense_rows("linear_lse", hidden=hidden, head=head, lse=lse)
        # row tiles are the fast axis: those of one column tile run together and share the head
        _tile_lse[(row_tiles, tiles)](
            hidden, head, parts, hidden.stride(0), head.stride(0), rows, columns, inner,
            CAST=interpreting(), **shape,
        )  # fmt: skip
        _merge[(triton.cdiv(rows, MERGE_R),)](
            parts, lse, rows, tiles, BLOCK_R=MERGE_R, BLOCK_T=MERGE_T, num_warps=8
        )

    return linear_lse


def tile_shape(kind: str, rows: int) -> dict[str, int]:
    """Tile of logits and step over h, and what it is compiled with.

    Few rows are bound by the one read of the head, and two blocks of an SM hide each other's
    exponentials; many rows by the reads of both operands from the cache, which a wide tile halves.
    """
    if kind == "float32":
        return {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32, "num_warps": 8, "num_stages": 3}
    if rows <= 64:
        return {"BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 64, "num_warps": 4, "num_stages": 3}
    if rows <= 512 or architecture() < 90:  # whose tiles of logits pass through more registers
        return {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "num_warps": 8, "num_stages": 3}
    return {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "num_warps": 8, "num_stages": 4}


@triton.jit(do_not_specialize=["rows"])
def _tile_lse(
    hidden, head, parts, hidden_stride, head_stride, rows, columns,
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
    total = tl.sum(tl.exp(logits - greatest[:, None]), axis=1)
    place = parts + tile.to(tl.int64) * rows + row
    tl.store(place, greatest + tl.log(total), mask=row < rows)


@triton.jit(do_not_specialize=["rows", "tiles"])
def _merge(parts, lse, rows, tiles, BLOCK_R: tl.constexpr, BLOCK_T: tl.constexpr):
    row = tl.program_id(0) * BLOCK_R + tl.arange(0, BLOCK_R)[None, :]
    first = tl.arange(0, BLOCK_T)[:, None]
    greatest = tl.full([BLOCK_T, BLOCK_R], float("-inf"), tl.float32)
    for at in range(0, tiles, BLOCK_T):
        tile = at + first
        place = parts + tile.to(tl.int64) * rows + row
        inside = (tile < tiles) & (row < rows)
        greatest = tl.maximum(greatest, tl.load(place, mask=inside, other=float("-inf")))
    top = tl.max(greatest, axis=0)[None, :]
    sums = tl.zeros([BLOCK_T, BLOCK_R], tl.float32)
    for at in range(0, tiles, BLOCK_T):
        tile = at + first
        place = parts + tile.to(tl.int64) * rows + row
        inside = (tile < tiles) & (row < rows)
        sums += tl.exp(tl.load(place, mask=inside, other=float("-inf")) - top)
    result = top + tl.log(tl.sum(sums, axis=0)[None, :])
    tl.store(lse + row, result, mask=row < rows)
