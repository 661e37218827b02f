"""beam_sort by tiles: the greatest of every tile first, then only tiles that hold a survivor.

The first launch leaves the greatest candidate of each tile of each live row. In the second a
program takes a request and picks its survivors in rank order: the tile with the greatest candidate
left is opened, gives that candidate, and keeps its next one as its greatest. A tile below the last
survivor is never opened, so the search ends early where scores are peaked. Equal candidates come by
tile, which is by row, then by code. The third launch puts survivors in their output rows.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
# Triton compiles the kernels from their source; their arguments are no Python values

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

from xgr.backends.ascend.triton.grid import vector_cores
from xgr.backends.ascend.triton.selection import tiles_of
from xgr.backends.ascend.triton.strides import dense
from xgr.ops.beam_step import LEAST
from xgr.ops.dtype import float32, int32
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher

_LEAST = tl.constexpr(LEAST)
# output rows that are written at a time
CHUNK = 256
# above every index and key
_BEYOND = tl.constexpr(0x7FFFFFFF)


def build(problem: Problem, context: Context) -> Launcher:
    """Choose the tile and allocate what the launches leave for each other."""
    a = problem.sizes
    tiles = tiles_of(problem)
    rows, requests, columns, targets = a["R"], a["B"], a["C"], a["RO"]
    tops: Any = context.empty((rows * tiles.count,), float32)
    keys: Any = context.empty((targets,), int32)
    values: Any = context.empty((targets,), float32)
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
            keys, values, live_out, requests, columns, pitch,
            TILES=tiles.count, BLOCK=tiles.block, SLOTS=tiles.slots,
        )  # fmt: skip
        emit_kernel[grid](
            keys, values, row_start, row_start_out, live_out, parent, code, score,
            requests, columns, targets,
            RANKED=ranked, WIDTH=tiles.width, CHUNK=min(CHUNK, tiles.width),
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
    value = tl.where(value != value, float("inf"), value)  # noqa: PLR0124 (a NaN)
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


@triton.jit(do_not_specialize=["requests", "columns", "pitch"])
def pick_kernel(
    scores, cumulative, row_start, live, row_start_out, out_width, tops,
    keys, values, live_out, requests, columns, pitch,
    TILES: tl.constexpr, BLOCK: tl.constexpr, SLOTS: tl.constexpr,
):  # fmt: skip
    """Requests, dealt to the programs in turn.

    What it takes:
        tops: float32 [rows, TILES], what `tops_kernel` left.
        keys, values: int32 and float32 [output rows], written: of each request's survivors, by
            rank, (row - its first row) * columns + code, and the score.
        SLOTS: power of two from a request's tiles on.
    """
    slots = tl.arange(0, SLOTS)
    lanes = tl.arange(0, BLOCK)
    for b in range(tl.program_id(0), requests, tl.num_programs(0)):
        first = tl.load(row_start + b)
        count = tl.load(live + b)
        begin = tl.load(row_start_out + b)
        width = tl.minimum(tl.load(out_width + b), tl.load(row_start_out + b + 1) - begin)
        mine_tops = tops + first.to(tl.int64) * TILES
        top = tl.load(mine_tops + slots, mask=slots < count * TILES, other=-float("inf"))
        # code from which on a tile's candidates that equal its greatest are left
        behind = tl.full((SLOTS,), -1, tl.int32)
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
            tl.store(keys + begin + found, slot // TILES * columns + column + lane)
            tl.store(values + begin + found, best)
            found += 1
            best = tl.max(top, axis=0)
            going = (best > -float("inf")) & (found < width)
        tl.store(live_out + b, found)


@triton.jit(do_not_specialize=["requests", "columns", "targets"])
def emit_kernel(
    keys, values, row_start, row_start_out, live_out, parent, code, score,
    requests, columns, targets,
    RANKED: tl.constexpr, WIDTH: tl.constexpr, CHUNK: tl.constexpr,
):  # fmt: skip
    """CHUNKs of the output rows of requests and of nobody, dealt to the programs in turn.

    What it takes:
        keys, values, live_out: what `pick_kernel` left.
        WIDTH: power of two from a request's output rows on.
        parent, code, score: [targets], by rank, or by key where RANKED is not set: a survivor's
            place is then the number of keys below its own.
    A key is taken apart as a scalar: the compiler divides vectors of integers as float32.
    """
    ranks = tl.arange(0, WIDTH)
    lanes = tl.arange(0, CHUNK)
    programs = tl.num_programs(0)
    for b in range(0, requests + 1):
        mine = b < requests
        request = tl.minimum(b, requests - 1)
        begin = tl.load(row_start_out + b)
        end = tl.where(mine, tl.load(row_start_out + tl.minimum(b + 1, requests)), targets)
        found = tl.where(mine, tl.load(live_out + request), 0)
        first = tl.where(mine, tl.load(row_start + request), 0)
        turn = (tl.program_id(0) + programs - b % programs) % programs
        for chunk in range(turn * CHUNK, end - begin, programs * CHUNK):
            sources = tl.zeros((CHUNK,), tl.int32) + first
            codes = tl.zeros((CHUNK,), tl.int32)
            kept = tl.full((CHUNK,), float("-inf"), tl.float32)
            since = 0
            until = found
            if RANKED:
                since = chunk
                until = tl.minimum(chunk + CHUNK, found)
            else:
                all_keys = tl.load(keys + begin + ranks, mask=ranks < found, other=_BEYOND)
            for rank in range(since, until):
                key = tl.load(keys + begin + rank)
                place = rank
                if not RANKED:
                    place = tl.sum((all_keys < key).to(tl.int32), axis=0)
                here = lanes == place - chunk
                sources = tl.where(here, first + key // columns, sources)
                codes = tl.where(here, key % columns, codes)
                kept = tl.where(here, tl.load(values + begin + rank), kept)
            inside = lanes < end - begin - chunk
            tl.store(parent + begin + chunk + lanes, sources, mask=inside)
            tl.store(code + begin + chunk + lanes, codes, mask=inside)
            tl.store(score + begin + chunk + lanes, kept, mask=inside)
