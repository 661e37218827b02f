"""kv_reorder in place, all layers in one launch: row by row, in an order that reads old rows only.

Rows that come from behind them go first and ascending, then rows that come from before them,
descending: with parents that ascend, no row is read after it was written. A program moves one slot
of one layer's K or V of a request, all its heads in one copy through the unified buffer; the copy
of a row out waits for the same row's copy in, which is behind every read before it.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
# Triton compiles the kernels from their source; their arguments are no Python values

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

from xgr.backends.ascend.triton.grid import vector_cores
from xgr.backends.ascend.triton.selection import power_of_two
from xgr.backends.ascend.triton.strides import dense
from xgr.ops.kv_reorder import BAD_PARENT
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher

# parents that are checked at a time
_CHECKED = 512
# elements of a copy, a power of two of heads' worth
TILE = 8192


def build(problem: Problem, context: Context) -> Launcher:
    """Choose how many heads a copy takes."""
    a = problem.sizes
    requests, layers, heads, size = a["B"], a["L"], a["G"], a["d"]
    block_d = power_of_two(size)
    block_g = min(power_of_two(heads), max(1, TILE // block_d))
    block_r = min(_CHECKED, max(8, power_of_two(a["R"])))
    grid = (vector_cores(),)

    def kv_reorder(
        *, k: Any, v: Any, parent: Any, row_start: Any, live: Any, status: Any, step: int
    ) -> None:
        """Move the valid slots of live rows."""
        for name, tensor in (("parent", parent), ("row_start", row_start), ("live", live)):
            dense(name, tensor)
        reorder_kernel[grid](
            k, v, parent, row_start, live, status, requests, layers, step,
            *dense("k", k), *dense("v", v),
            HEADS=heads, SIZE=size, BAD=BAD_PARENT,
            BLOCK_R=block_r, BLOCK_G=block_g, BLOCK_D=block_d,
        )  # fmt: skip

    return kv_reorder


@triton.jit(
    do_not_specialize=[
        "requests", "layers", "step", "k_layer", "k_row", "k_slot", "k_head",
        "v_layer", "v_row", "v_slot", "v_head",
    ]
)  # fmt: skip
def reorder_kernel(
    k, v, parent, row_start, live, status, requests, layers, step,
    k_layer, k_row, k_slot, k_head, v_layer, v_row, v_slot, v_head,
    HEADS: tl.constexpr, SIZE: tl.constexpr, BAD: tl.constexpr,
    BLOCK_R: tl.constexpr, BLOCK_G: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    """Planes (layer, slot, group of heads) of each request, K and V, dealt to the programs.

    What it takes:
        k, v: [layers, rows, slots, HEADS, SIZE], changed in place; strides of all axes but the
            last follow.
        parent, row_start, live, status: int32 as `xgr.ops.kv_reorder` declares them.
        step: slots that move.
    """
    turns: tl.constexpr = (HEADS + BLOCK_G - 1) // BLOCK_G
    planes = layers * step * turns
    for b in range(0, requests):
        first = tl.load(row_start + b)
        end = tl.load(row_start + b + 1)
        count = tl.load(live + b)
        sound = _sound(parent, first, end, count, BLOCK_R)
        if sound == 0:
            if tl.program_id(0) == 0:
                tl.store(status + b, tl.load(status + b) | BAD)
        else:
            for plane in range(tl.program_id(0), planes * 2, tl.num_programs(0)):
                at = plane // 2
                head = at % turns * BLOCK_G
                slot = (at // turns % step).to(tl.int64)
                layer = (at // turns // step).to(tl.int64)
                if plane % 2 == 0:
                    base = k + layer * k_layer + slot * k_slot + head.to(tl.int64) * k_head
                    _move(
                        base, parent, first, count, k_row, k_head, HEADS - head,
                        SIZE, BLOCK_G, BLOCK_D,
                    )  # fmt: skip
                else:
                    base = v + layer * v_layer + slot * v_slot + head.to(tl.int64) * v_head
                    _move(
                        base, parent, first, count, v_row, v_head, HEADS - head,
                        SIZE, BLOCK_G, BLOCK_D,
                    )  # fmt: skip


@triton.jit
def _sound(parent, first, end, count, BLOCK_R: tl.constexpr):
    """1 where the parents of rows first .. first + count - 1 ascend within first .. end - 1."""
    at = tl.arange(0, BLOCK_R)
    wrong = 0
    before = first
    for block in range(0, count, BLOCK_R):
        inside = at < count - block
        # a block's last parent is the least that the next block may have
        mine = tl.load(parent + first + block + at, mask=inside, other=0)
        least = tl.min(tl.where(inside, mine, end), axis=0)
        greatest = tl.max(tl.where(inside, mine, first), axis=0)
        wrong += ((least < before) | (greatest >= end)).to(tl.int32)
        # neighbours within the block: the row behind, where there is one
        follows = at < count - block - 1
        behind = tl.load(parent + first + block + 1 + at, mask=follows, other=0)
        wrong += tl.max((follows & inside & (behind < mine)).to(tl.int32), axis=0)
        before = greatest
    return tl.where(wrong == 0, 1, 0)


@triton.jit
def _move(
    base, parent, first, count, row_stride, head_stride, heads,
    SIZE: tl.constexpr, BLOCK_G: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    for at in range(0, count):
        row = first + at
        source = tl.load(parent + row)
        if source > row:
            _copy(base, source, row, row_stride, head_stride, heads, SIZE, BLOCK_G, BLOCK_D)
    for back in range(0, count):
        row = first + count - 1 - back
        source = tl.load(parent + row)
        if source < row:
            _copy(base, source, row, row_stride, head_stride, heads, SIZE, BLOCK_G, BLOCK_D)


@triton.jit
def _copy(
    base, source, row, row_stride, head_stride, heads,
    SIZE: tl.constexpr, BLOCK_G: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    at_head, at = tl.arange(0, BLOCK_G)[:, None], tl.arange(0, BLOCK_D)[None, :]
    inside = (at_head < heads) & (at < SIZE)
    place = at_head * head_stride + at
    value = tl.load(base + source.to(tl.int64) * row_stride + place, mask=inside, other=0.0)
    tl.store(base + row.to(tl.int64) * row_stride + place, value, mask=inside)
