"""Merge of attention parts by online softmax, on vector cores."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
# Triton compiles `merge_kernel` from its source; its arguments are no Python values

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import triton
import triton.language as tl

from xgr.backends.ascend.triton.grid import vector_cores
from xgr.backends.ascend.triton.selection import power_of_two
from xgr.backends.ascend.triton.strides import dense
from xgr.errors import InputError
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher

# float32 elements of a tile of vectors: what it takes, twice buffered, fits the unified buffer
TILE = 4096
# parts that the kernel has parameters for
MOST = 4


def build(problem: Problem, context: Context) -> Launcher:
    """Choose the tile; the number of parts is read from the call."""
    a = problem.sizes
    rows, heads, size = a["R"], a["H"], a["d"]
    block_d = power_of_two(size)
    block_h = min(power_of_two(heads), max(1, TILE // block_d))
    block_r = min(power_of_two(rows), max(1, TILE // (block_d * block_h)))
    grid = (vector_cores(),)

    def merge_attention(*, outs: Sequence[Any], lses: Sequence[Any], out: Any, lse: Any) -> None:
        """Merge one to `MOST` parts.

        Raises:
            InputError: more parts, or elements of a last axis that lie apart.
        """
        if not 1 <= len(outs) <= MOST:
            raise InputError(
                f"merge_attention: {len(outs)} parts, this kernel takes 1 to {MOST}: "
                "merge some of them first"
            )
        # parameters without a part repeat the first one, and are not read
        spare = MOST - len(outs)
        parts, stats = [*outs, *[outs[0]] * spare], [*lses, *[lses[0]] * spare]
        merge_kernel[grid](
            *parts, *stats, out, lse, rows,
            *chain.from_iterable(dense("outs", part) for part in parts),
            *chain.from_iterable(dense("lses", stat) for stat in stats),
            *dense("out", out), *dense("lse", lse),
            HEADS=heads, SIZE=size, PARTS=len(outs),
            BLOCK_R=block_r, BLOCK_H=block_h, BLOCK_D=block_d,
        )  # fmt: skip

    return merge_attention


@triton.jit(
    do_not_specialize=[
        "rows", "row0", "head0", "row1", "head1", "row2", "head2", "row3", "head3",
        "stat0", "stat1", "stat2", "stat3", "out_row", "out_head", "lse_row",
    ]
)  # fmt: skip
def merge_kernel(
    part0, part1, part2, part3, lse0, lse1, lse2, lse3, out, lse, rows,
    row0, head0, row1, head1, row2, head2, row3, head3, stat0, stat1, stat2, stat3,
    out_row, out_head, lse_row,
    HEADS: tl.constexpr, SIZE: tl.constexpr, PARTS: tl.constexpr,
    BLOCK_R: tl.constexpr, BLOCK_H: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    """Tiles of BLOCK_R rows by BLOCK_H heads, dealt to the programs in turn.

    What it takes:
        part0..3, lse0..3: the first PARTS of them [rows, HEADS, SIZE] and float32 [rows, HEADS].
        out, lse: the same, of all parts together.
        row0.., head0.., stat0..: strides of the parts; the last axes are dense.
    """
    across: tl.constexpr = (HEADS + BLOCK_H - 1) // BLOCK_H
    for tile in range(tl.program_id(0), tl.cdiv(rows, BLOCK_R) * across, tl.num_programs(0)):
        row = tile // across * BLOCK_R
        head = tile % across * BLOCK_H
        left_rows, left_heads = rows - row, HEADS - head
        top = _stats(lse0, row, head, stat0, left_rows, left_heads, BLOCK_R, BLOCK_H)
        first = top
        if PARTS > 1:
            second = _stats(lse1, row, head, stat1, left_rows, left_heads, BLOCK_R, BLOCK_H)
            top = tl.maximum(top, second)
        if PARTS > 2:
            third = _stats(lse2, row, head, stat2, left_rows, left_heads, BLOCK_R, BLOCK_H)
            top = tl.maximum(top, third)
        if PARTS > 3:
            fourth = _stats(lse3, row, head, stat3, left_rows, left_heads, BLOCK_R, BLOCK_H)
            top = tl.maximum(top, fourth)
        base = tl.where(top == float("-inf"), 0.0, top)  # all parts empty: -inf - -inf is NaN
        weight = tl.exp(first - base)
        total = weight
        vectors = _vectors(
            part0, row, head, row0, head0, left_rows, left_heads, SIZE, BLOCK_R, BLOCK_H, BLOCK_D
        )
        acc = vectors * weight[:, :, None]
        if PARTS > 1:
            weight = tl.exp(second - base)
            total += weight
            vectors = _vectors(
                part1, row, head, row1, head1, left_rows, left_heads,
                SIZE, BLOCK_R, BLOCK_H, BLOCK_D,
            )  # fmt: skip
            acc += vectors * weight[:, :, None]
        if PARTS > 2:
            weight = tl.exp(third - base)
            total += weight
            vectors = _vectors(
                part2, row, head, row2, head2, left_rows, left_heads,
                SIZE, BLOCK_R, BLOCK_H, BLOCK_D,
            )  # fmt: skip
            acc += vectors * weight[:, :, None]
        if PARTS > 3:
            weight = tl.exp(fourth - base)
            total += weight
            vectors = _vectors(
                part3, row, head, row3, head3, left_rows, left_heads,
                SIZE, BLOCK_R, BLOCK_H, BLOCK_D,
            )  # fmt: skip
            acc += vectors * weight[:, :, None]
        total = tl.where(total == 0.0, 1.0, total)
        inside = (tl.arange(0, BLOCK_R)[:, None] < left_rows) & (
            tl.arange(0, BLOCK_H)[None, :] < left_heads
        )
        within = (
            (tl.arange(0, BLOCK_R)[:, None, None] < left_rows)
            & (tl.arange(0, BLOCK_H)[None, :, None] < left_heads)
            & (tl.arange(0, BLOCK_D)[None, None, :] < SIZE)
        )
        target = out + row.to(tl.int64) * out_row + head.to(tl.int64) * out_head
        place = (
            tl.arange(0, BLOCK_R)[:, None, None] * out_row
            + tl.arange(0, BLOCK_H)[None, :, None] * out_head
            + tl.arange(0, BLOCK_D)[None, None, :]
        )
        merged = acc / total[:, :, None]
        tl.store(target + place, merged.to(out.dtype.element_ty), mask=within)
        stats = tl.arange(0, BLOCK_R)[:, None] * lse_row + tl.arange(0, BLOCK_H)[None, :]
        tl.store(lse + row.to(tl.int64) * lse_row + head + stats, top + tl.log(total), mask=inside)


@triton.jit
def _stats(lse, row, head, stride, rows, heads, BLOCK_R: tl.constexpr, BLOCK_H: tl.constexpr):
    """float32 [BLOCK_R, BLOCK_H], -inf beyond the tile's rows and heads."""
    at_row, at_head = tl.arange(0, BLOCK_R)[:, None], tl.arange(0, BLOCK_H)[None, :]
    base = lse + row.to(tl.int64) * stride + head
    inside = (at_row < rows) & (at_head < heads)
    return tl.load(base + at_row * stride + at_head, mask=inside, other=float("-inf"))


@triton.jit
def _vectors(
    part, row, head, row_stride, head_stride, rows, heads,
    SIZE: tl.constexpr, BLOCK_R: tl.constexpr, BLOCK_H: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    """float32 [BLOCK_R, BLOCK_H, BLOCK_D], 0 beyond the tile's rows and heads."""
    at_row = tl.arange(0, BLOCK_R)[:, None, None]
    at_head = tl.arange(0, BLOCK_H)[None, :, None]
    at = tl.arange(0, BLOCK_D)[None, None, :]
    base = part + row.to(tl.int64) * row_stride + head.to(tl.int64) * head_stride
    inside = (at_row < rows) & (at_head < heads) & (at < SIZE)
    place = at_row * row_stride + at_head * head_stride + at
    return tl.load(base + place, mask=inside, other=0.0).to(tl.float32)
