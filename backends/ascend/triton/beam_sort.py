"""beam_sort by tiles: the greatest of every tile first, then only tiles that hold a survivor.

The first launch leaves the greatest candidate of each tile of each live row. In the second a
program takes a request and picks its survivors in rank order: the tile with the greatest candidate
left is opened, gives that candidate, and keeps its next one as its greatest. A tile below the last
survivor is never opened, so the search ends early where scores are peaked. Equal candidates come by
tile, which is by row, then by code.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
# Triton compiles the kernels from their source; their arguments are no Python values

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import triton
import triton.language as tl

from xgr.backends.ascend.triton.grid import vector_cores
from xgr.backends.ascend.triton.selection import tiles_of
from xgr.backends.ascend.triton.strides import dense
from xgr.ops.beam_step import LEAST
from xgr.ops.dtype import float32
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher

_LEAST = tl.constexpr(LEAST)
# above every index
_BEYOND = tl.constexpr(0x7FFFFFFF)


def build(problem: Problem, context: Context) -> Launcher:
    """Choose the tile and allocate the greatest candidates."""
    a = problem.sizes
    tiles = tiles_of(problem)
    rows, requests, columns, targets = a["R"], a["B"], a["C"], a["RO"]
    tops: Any = context.empty((rows * tiles.count,), float32)
    ranked = problem.flag("order") == "rank"
    grid = (vector_cores(),)

    def beam_sort(
        *,
        scores: Any,
        cumulative: Any,
        row_start: Any,
        live: Any,
        row_start_out: Any,
        out_width: Any,
        order: str,
        parent: Any,
        code: Any,
        score: Any,
        live_out: Any,
    ) -> None:
        """Keep the best candidates of each request."""
        pitch = dense("scores", scores)[0]
        dense("cumulative", cumulative)
        tops_kernel[grid](
            scores, cumulative, row_start, live, tops, requests, columns, pitch,
            TILES=tiles.count, BLOCK=tiles.block,
        )  # fmt: skip
        pick_kernel[grid](
            scores, cumulative, row_start, live, row_start_out, out_width, tops,
            parent, code, score, live_out, requests, columns, targets, pitch,
            RANKED=ranked, TILES=tiles.count, BLOCK=tiles.block,
            SLOTS=tiles.slots, WIDTH=tiles.width,
        )  # fmt: skip

    return beam_sort


@triton.jit
def _candidates(scores, total, pitch, row, column, columns, BLOCK: tl.constexpr):
    """Scores of a tile's candidates: -inf for none, +inf for a NaN, at least -1e30 otherwise."""
    lanes = tl.arange(0, BLOCK)
    value = tl.load(
        scores + row * pitch + column + lanes, mask=lanes < columns - column, other=-float("inf")
    )
    value += total
    value = tl.where(value != value, float("inf"), value)
    return tl.where((value < _LEAST) & (value != -float("inf")), _LEAST, value)


@triton.jit(do_not_specialize=["requests", "columns", "pitch"])
def tops_kernel(
    scores, cumulative, row_start, live, tops, requests, columns, pitch,
    TILES: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Live rows, dealt to the programs in turn; tops float32 [rows, TILES]."""
    programs = tl.num_programs(0)
    for b in range(0, requests):
        first = tl.load(row_start + b)
        count = tl.load(live + b)
        turn = (tl.program_id(0) + programs - first % programs) % programs
        for at in range(turn, count, programs):
            row = (first + at).to(tl.int64)
            total = tl.load(cumulative + row)
            for tile in range(0, TILES):
                value = _candidates(scores, total, pitch, row, tile * BLOCK, columns, BLOCK)
                tl.store(tops + row * TILES + tile, tl.max(value, axis=0))


@triton.jit(do_not_specialize=["requests", "columns", "targets", "pitch"])
def pick_kernel(
    scores, cumulative, row_start, live, row_start_out, out_width, tops,
    parent, code, score, live_out, requests, columns, targets, pitch,
    RANKED: tl.constexpr, TILES: tl.constexpr, BLOCK: tl.constexpr,
    SLOTS: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """Requests, dealt to the programs in turn.

    What it takes:
        tops: float32 [rows, TILES], what `tops_kernel` left.
        targets: rows of the outputs, which those of a request and of nobody make up.
        SLOTS, WIDTH: powers of two from a request's tiles and output rows on.
    """
    ranks = tl.arange(0, WIDTH)
    for b in range(tl.program_id(0), requests + 1, tl.num_programs(0)):
        if b == requests:
            begin = tl.load(row_start_out + b)
            for at in range(begin, targets, WIDTH):
                inside = ranks < targets - at
                tl.store(parent + at + ranks, tl.zeros((WIDTH,), tl.int32), mask=inside)
                tl.store(code + at + ranks, tl.zeros((WIDTH,), tl.int32), mask=inside)
                nothing = tl.full((WIDTH,), float("-inf"), tl.float32)
                tl.store(score + at + ranks, nothing, mask=inside)
        else:
            first = tl.load(row_start + b)
            begin = tl.load(row_start_out + b)
            room = tl.load(row_start_out + b + 1) - begin
            width = tl.minimum(tl.load(out_width + b), room)
            keys, values, found = _picked(
                scores, cumulative, tops, pitch, columns, first, tl.load(live + b), width,
                TILES, BLOCK, SLOTS, WIDTH,
            )  # fmt: skip
            if not RANKED:
                keys, values = _by_path(keys, values, found, WIDTH)
            alive = ranks < found
            source = tl.where(alive, first + keys // columns, first)
            tl.store(parent + begin + ranks, source, mask=ranks < room)
            tl.store(
                code + begin + ranks, tl.where(alive, keys % columns, 0), mask=ranks < room
            )
            tl.store(score + begin + ranks, values, mask=ranks < room)
            tl.store(live_out + b, found)


@triton.jit
def _picked(
    scores, cumulative, tops, pitch, columns, first, count, width,
    TILES: tl.constexpr, BLOCK: tl.constexpr, SLOTS: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """Survivors by rank: (row - first) * columns + code, scores (-inf behind them), how many."""
    slots = tl.arange(0, SLOTS)
    lanes = tl.arange(0, BLOCK)
    ranks = tl.arange(0, WIDTH)
    top = tl.load(
        tops + first.to(tl.int64) * TILES + slots, mask=slots < count * TILES, other=-float("inf")
    )
    # code from which on a tile's candidates that equal its greatest are left
    behind = tl.full((SLOTS,), -1, tl.int32)
    keys = tl.zeros((WIDTH,), tl.int32)
    values = tl.full((WIDTH,), float("-inf"), tl.float32)
    found = 0
    best = tl.max(top, axis=0)
    # +inf: a request with a NaN or an infinite candidate is emptied
    going = (best > -float("inf")) & (best < float("inf")) & (width > 0)
    while going:
        slot = tl.min(tl.where(top == best, slots, _BEYOND), axis=0)
        after = tl.max(tl.where(slots == slot, behind, -1), axis=0)
        row = (first + slot // TILES).to(tl.int64)
        column = slot % TILES * BLOCK
        value = _candidates(
            scores, tl.load(cumulative + row), pitch, row, column, columns, BLOCK
        )
        lane = tl.min(tl.where((value == best) & (lanes > after), lanes, _BEYOND), axis=0)
        left = (value < best) | ((value == best) & (lanes > lane))
        following = tl.max(tl.where(left, value, float("-inf")), axis=0)
        top = tl.where(slots == slot, following, top)
        behind = tl.where(slots == slot, tl.where(following == best, lane, -1), behind)
        keys = tl.where(ranks == found, slot // TILES * columns + column + lane, keys)
        values = tl.where(ranks == found, best, values)
        found += 1
        best = tl.max(top, axis=0)
        going = (best > -float("inf")) & (found < width)
    return keys, values, found


@triton.jit
def _by_path(keys, values, found, WIDTH: tl.constexpr):
    """Keys ascending, and the scores that belong to them."""
    ranks = tl.arange(0, WIDTH)
    left = tl.where(ranks < found, keys, _BEYOND)
    sorted_keys = tl.zeros((WIDTH,), tl.int32)
    sorted_values = tl.full((WIDTH,), float("-inf"), tl.float32)
    for place in range(0, found):
        least = tl.min(left, axis=0)
        value = tl.max(tl.where(left == least, values, float("-inf")), axis=0)
        sorted_keys = tl.where(ranks == place, least, sorted_keys)
        sorted_values = tl.where(ranks == place, value, sorted_values)
        left = tl.where(left == least, _BEYOND, left)
    return sorted_keys, sorted_values
