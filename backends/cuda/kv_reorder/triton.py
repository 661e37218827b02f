# Triton's language has no types:
# mypy: disable-error-code="no-untyped-def,untyped-decorator"
"""kv_reorder in place, one launch for all layers: a program owns a few columns of a request.

What it holds of a request's rows, of K and of V, it loads before it stores; rows that stay are not
touched. Where a request has more rows, they go block by block in an order in which no row is read
after it was written: rows that come from behind them first and ascending, then rows that come from
before them, descending.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from xgr.backends.cuda.rows import parents_are_sound
from xgr.backends.cuda.strides import need_dense_rows
from xgr.ops.kv_reorder import BAD_PARENT
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher

# rows that a program holds, and bytes of each: a cache line
_ROWS, _SEGMENT = 512, 128


def build(problem: Problem, context: Context) -> Launcher:
    """Tunables: `rows` that a program holds and `columns` of a head, powers of two."""
    sizes = problem.sizes
    layers, requests, groups, size = sizes["L"], sizes["B"], sizes["G"], sizes["d"]
    item = 4 if problem.dtype == "float32" else 2
    aligned = size & -size  # greatest power of two that divides a head
    columns = context.config.get("columns", min(aligned, _SEGMENT // item))
    block_r = min(triton.next_power_of_2(sizes["R"]), context.config.get("rows", _ROWS))
    warps = min(max(block_r * columns * item // 2048, 1), 16)

    def kv_reorder(
        *,
        k: torch.Tensor,
        v: torch.Tensor,
        parent: torch.Tensor,
        row_start: torch.Tensor,
        live: torch.Tensor,
        status: torch.Tensor,
        step: int,
    ) -> None:
        need_dense_rows(
            "kv_reorder", k=k, v=v, parent=parent, row_start=row_start, live=live, status=status
        )
        # with no slot to move the parents are checked all the same
        planes = max(layers * step, 1)
        _kv_reorder[(groups * (size // columns), planes, requests)](
            k, v, parent, row_start, live, status, *k.stride()[:4], *v.stride()[:4], step,
            D=size, BAD=BAD_PARENT, BLOCK_R=block_r, BLOCK_C=columns, num_warps=warps,
        )  # fmt: skip

    return kv_reorder


@triton.jit(do_not_specialize=["step"])
def _kv_reorder(
    k, v, parent, row_start, live, status,
    k_layer, k_row, k_slot, k_head, v_layer, v_row, v_slot, v_head, step,
    D: tl.constexpr, BAD: tl.constexpr, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr,
):  # fmt: skip
    column, plane, b = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    first, end = tl.load(row_start + b), tl.load(row_start + b + 1)
    count = tl.load(live + b)
    head, inner = column // (D // BLOCK_C), column % (D // BLOCK_C) * BLOCK_C
    slots = tl.maximum(step, 1)
    layer, slot = (plane // slots).to(tl.int64), plane % slots
    k += layer * k_layer + slot * k_slot + head * k_head + inner
    v += layer * v_layer + slot * v_slot + head * v_head + inner
    if count <= BLOCK_R:
        at = tl.arange(0, BLOCK_R)
        row, inside = first + at, at < count
        source = tl.load(parent + row, mask=inside, other=0)
        before = tl.load(parent + row - 1, mask=inside & (at > 0), other=-2147483648)
        own = inside & (source >= first) & (source < end)
        moves = own & (source != row) & (step > 0)
        # loads do not wait for the verdict on the parents
        kept_k = _rows_of(k, source, k_row, moves, BLOCK_C)
        kept_v = _rows_of(v, source, v_row, moves, BLOCK_C)
        sound = tl.max((inside & (~own | (source < before))).to(tl.int32), 0) == 0
        # other warps of the program read the rows that this one is about to write
        tl.debug_barrier()
        _put(k, row, k_row, kept_k, moves & sound, BLOCK_C)
        _put(v, row, v_row, kept_v, moves & sound, BLOCK_C)
    else:
        sound = parents_are_sound(parent, first, end, count, BLOCK_R)
        if sound & (step > 0):
            _move(k, parent, first, count, k_row, BLOCK_R, BLOCK_C)
            _move(v, parent, first, count, v_row, BLOCK_R, BLOCK_C)
    if (column == 0) & (plane == 0) & ~sound:
        tl.store(status + b, tl.load(status + b) | BAD)


@triton.jit
def _move(base, parent, first, count, stride, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr):
    blocks = tl.cdiv(count, BLOCK_R)
    for block in range(0, blocks):
        _move_block(base, parent, first, count, block, stride, True, BLOCK_R, BLOCK_C)
    for back in range(0, blocks):
        block = blocks - 1 - back
        _move_block(base, parent, first, count, block, stride, False, BLOCK_R, BLOCK_C)


@triton.jit
def _move_block(
    base, parent, first, count, block, stride, BEHIND: tl.constexpr,
    BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr,
):  # fmt: skip
    """Rows of one block whose parent lies behind them, or before them."""
    at = block * BLOCK_R + tl.arange(0, BLOCK_R)
    row = first + at
    source = tl.load(parent + row, mask=at < count, other=0)
    moves = (at < count) & ((source > row) if BEHIND else (source < row))
    value = _rows_of(base, source, stride, moves, BLOCK_C)
    tl.debug_barrier()
    _put(base, row, stride, value, moves, BLOCK_C)


@triton.jit
def _rows_of(base, row, stride, mask, BLOCK_C: tl.constexpr):
    inner = tl.arange(0, BLOCK_C)[None, :]
    return tl.load(base + row.to(tl.int64)[:, None] * stride + inner, mask=mask[:, None])


@triton.jit
def _put(base, row, stride, value, mask, BLOCK_C: tl.constexpr):
    inner = tl.arange(0, BLOCK_C)[None, :]
    tl.store(base + row.to(tl.int64)[:, None] * stride + inner, value, mask=mask[:, None])
