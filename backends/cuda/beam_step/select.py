"""Fourth launch of a beam step: one block a request cuts its candidates down to survivors.

Lists of rows are joined in the order of rows, so equal keys are cut by their order and survivors
come in (row, code) order without a sort. Where the candidates did not fit their area, rows are read
again one after the other, and the best so far are kept whenever the area is full.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, misc"
# Kernels are typed by Triton, which has no types of Python's.

from __future__ import annotations

import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from xgr.backends.cuda.beam_step.cut import best_of, keep
from xgr.backends.cuda.beam_step.floor import wanted
from xgr.backends.cuda.beam_step.open import ROOM, area, candidates, facts, places
from xgr.backends.cuda.beam_step.scan import TILE

_TILE, _ROOM = tl.constexpr(TILE), tl.constexpr(ROOM)


@triton.jit(do_not_specialize=["level", "K", "tiles"])
def select(
    tile_max,
    low_of,
    count_of,
    legal,
    cumulative,
    norm,
    logits,
    stride_row,
    stride_code,
    descriptor,
    code,
    level,
    row_start,
    live,
    row_start_out,
    out_width,
    floor,
    listed,
    opened_of,
    begin_of,
    listed_of,
    offset_of,
    keys,
    children,
    joined_keys,
    joined_children,
    joined_rows,
    kept,
    kept_keys,
    found,
    K,
    tiles,
    TRIE: tl.constexpr,
    STRICT: tl.constexpr,
    SPARE: tl.constexpr,
    ROWS: tl.constexpr,
    SMALL: tl.constexpr,
    LARGE: tl.constexpr,
    STEP: tl.constexpr,
    TILES: tl.constexpr,
    CHAINED: tl.constexpr,
):
    """Grid (B). `ROWS` are looked up at once, `STEP` candidates moved.

    `SMALL` and `LARGE` are the keys in registers for a cut of few candidates and of many.
    """
    if CHAINED:
        gdc_launch_dependents()
        gdc_wait()
    request = tl.program_id(0)
    want, target, room = wanted(request, row_start_out, out_width)
    first, rows = tl.load(row_start + request), tl.load(live + request)
    n, least = tl.load(listed + request), tl.load(floor + request)
    here = area(request, target, SPARE)
    joined_keys += here
    joined_children += here
    joined_rows += here
    if n <= _ROOM * room + SPARE:
        _join(
            first, rows, n, begin_of, listed_of, offset_of, keys + here, children + here,
            joined_keys, joined_children, joined_rows, ROWS, STEP,
        )  # fmt: skip
    else:
        n = _read_again(
            first, rows, want, least, _ROOM * room + SPARE, opened_of,
            joined_keys, joined_children, joined_rows, kept + target, kept_keys + target, tile_max,
            legal, tiles, low_of, count_of, cumulative, norm, logits, stride_row, stride_code,
            descriptor, code, level, K, TRIE, STRICT, TILES, LARGE, STEP,
        )  # fmt: skip
    tl.debug_barrier()
    if n <= SMALL:
        threshold, ties, count, _ = best_of(joined_keys, n, want, 0, least, SMALL)
        keep(joined_keys, n, threshold, ties, kept + target, kept_keys + target, SMALL)
    else:
        threshold, ties, count, _ = best_of(joined_keys, n, want, 0, least, LARGE)
        keep(joined_keys, n, threshold, ties, kept + target, kept_keys + target, STEP)
    tl.store(found + request, count)


@triton.jit
def _join(
    first,
    rows,
    n,
    begin_of,
    listed_of,
    offset_of,
    keys,
    children,
    joined_keys,
    joined_children,
    joined_rows,
    ROWS: tl.constexpr,
    STEP: tl.constexpr,
):
    """Moves the lists of rows into one, in the order of rows."""
    lanes = tl.arange(0, ROWS)
    before = 0
    for at in range(0, rows, ROWS):
        row = first + at + lanes
        used = at + lanes < rows
        size = tl.load(listed_of + row, mask=used, other=0)
        tl.store(offset_of + row, before + tl.cumsum(size, 0) - size, mask=used)
        before += tl.sum(size, 0)
    tl.debug_barrier()
    for at in range(0, n, STEP):
        place = at + tl.arange(0, STEP)
        used = place < n
        # the last row whose list begins at or before the place
        row = tl.zeros_like(place) + first
        left = rows
        while left > 1:
            half = left // 2
            after = tl.load(offset_of + row + half, mask=used, other=0) <= place
            row = tl.where(after, row + half, row)
            left -= half
        offset = tl.load(offset_of + row, mask=used, other=0)
        source = tl.load(begin_of + row, mask=used, other=0) + place - offset
        key = tl.load(keys + source, mask=used, other=0)
        child = tl.load(children + source, mask=used, other=0)
        tl.store(joined_keys + place, key, mask=used)
        tl.store(joined_children + place, child, mask=used)
        tl.store(joined_rows + place, row, mask=used)


@triton.jit
def _read_again(
    first,
    rows,
    want,
    floor,
    room,
    opened_of,
    joined_keys,
    joined_children,
    joined_rows,
    kept,
    kept_keys,
    tile_list,
    legal,
    tiles,
    low_of,
    count_of,
    cumulative,
    norm,
    logits,
    stride_row,
    stride_code,
    descriptor,
    code,
    level,
    K,
    TRIE: tl.constexpr,
    STRICT: tl.constexpr,
    TILES: tl.constexpr,
    LARGE: tl.constexpr,
    STEP: tl.constexpr,
):
    """Lists the candidates of all rows, or at least the best `want`; returns how many."""
    n = 0
    least = floor
    for number in range(rows):
        row = first + number
        opened = tl.load(opened_of + row)
        of_row = tile_list + row.to(tl.int64) * tiles
        low, size, base, lse = facts(row, low_of, count_of, cumulative, norm, K, TRIE)
        for at in range(0, opened, TILES):
            if n + TILES * _TILE > room:
                tl.debug_barrier()
                threshold, ties, count, _ = best_of(joined_keys, n, want, 0, floor, LARGE)
                keep(joined_keys, n, threshold, ties, kept, kept_keys, STEP)
                tl.debug_barrier()
                _compact(count, kept, joined_keys, joined_children, joined_rows, STEP)
                tl.debug_barrier()
                n = count
                # what is equal to the last of them is behind it
                least = tl.maximum(least, threshold + 1)
            key, child = candidates(
                row, at, opened, of_row, legal, tiles, low, size, base, lse, logits, stride_row,
                stride_code, descriptor, code, level, TRIE, STRICT, TILES,
            )  # fmt: skip
            taken = key >= least
            place, n = places(taken, n)
            tl.store(joined_keys + place, key, mask=taken)
            tl.store(joined_children + place, child, mask=taken)
            tl.store(joined_rows + place, tl.zeros_like(child) + row, mask=taken)
    return n


@triton.jit
def _compact(count, kept, joined_keys, joined_children, joined_rows, STEP: tl.constexpr):
    """Moves the kept of a list to its front, where none is ahead of its place."""
    for at in range(0, count, STEP):
        place = at + tl.arange(0, STEP)
        used = place < count
        source = tl.load(kept + place, mask=used, other=0)
        key = tl.load(joined_keys + source, mask=used, other=0)
        child = tl.load(joined_children + source, mask=used, other=0)
        row = tl.load(joined_rows + source, mask=used, other=0)
        tl.debug_barrier()
        tl.store(joined_keys + place, key, mask=used)
        tl.store(joined_children + place, child, mask=used)
        tl.store(joined_rows + place, row, mask=used)
        tl.debug_barrier()
