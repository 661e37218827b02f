"""Fourth launch of a beam step: one block a request cuts its candidates down to survivors.

Lists are joined in the order of groups, so equal keys are cut by their order and survivors
come in (row, code) order without a sort. Where the candidates did not fit their area, groups are
read again one after the other, and the best so far are kept whenever the area is full.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, misc"
# Kernels are typed by Triton, which has no types of Python's.

from __future__ import annotations

import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from xgr.backends.cuda.beam_step.cut import best_of, keep
from xgr.backends.cuda.beam_step.floor import places_of, wanted
from xgr.backends.cuda.beam_step.open import ROOM, area, candidates, places
from xgr.backends.cuda.beam_step.scan import TILE

_TILE, _ROOM = tl.constexpr(TILE), tl.constexpr(ROOM)


@triton.jit(do_not_specialize=["level", "K", "tiles"])
def select(
    groups_kept,
    groups_of,
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
    row_start_out,
    out_width,
    floor,
    ceiling,
    listed,
    listed_of,
    offset_of,
    keys,
    children,
    list_of,
    index_of,
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
    SLOTS: tl.constexpr,
    SHIFT: tl.constexpr,
    PARTS: tl.constexpr,
    SPARE: tl.constexpr,
    LISTS: tl.constexpr,
    SMALL: tl.constexpr,
    LARGE: tl.constexpr,
    STEP: tl.constexpr,
    TILES: tl.constexpr,
    CHAINED: tl.constexpr,
):
    """Grid (B). `LISTS` are looked up at once, `STEP` candidates moved.

    `SMALL` and `LARGE` are the keys in registers for a cut of few candidates and of many.
    """
    if CHAINED:
        gdc_launch_dependents()
    request = tl.program_id(0)
    want, target, room = wanted(request, row_start_out, out_width)
    first = tl.load(row_start + request)
    if CHAINED:
        gdc_wait()
    groups, n = tl.load(groups_of + request), tl.load(listed + request)
    bounds = (tl.load(floor + request), tl.load(ceiling + request))
    here = area(request, target, SPARE)
    # the cut needs no order
    found_keys = keys + here
    listed_here = (found_keys, children + here, list_of + here, index_of + here)
    in_order = joined_keys + here
    joined = (in_order, joined_children + here, joined_rows + here)
    best, best_keys = kept + target, kept_keys + target
    if n <= _ROOM * room + SPARE:
        lists = places_of(target) * PARTS
        _offsets(groups * PARTS, listed_of + lists, offset_of + lists, LISTS)
        tl.debug_barrier()
        if n <= SMALL:
            _join(first, n, groups_kept, offset_of, listed_here, joined, SLOTS, PARTS, SMALL)
        else:
            _join(first, n, groups_kept, offset_of, listed_here, joined, SLOTS, PARTS, STEP)
    else:
        facts_of = (low_of, count_of, cumulative, norm)
        read = (legal, logits, stride_row, stride_code, descriptor, code, level)
        n = _read_again(
            first, groups_kept + places_of(target), groups * PARTS, want, bounds,
            _ROOM * room + SPARE, joined, (best, best_keys), tile_max, facts_of, read, tiles, K,
            TRIE, STRICT, SLOTS, SHIFT, PARTS, TILES, LARGE, STEP,
        )  # fmt: skip
        found_keys = in_order
    tl.debug_barrier()
    if n <= SMALL:
        threshold, ties, count, _ = best_of(found_keys, n, want, 0, bounds, SMALL)
        keep(in_order, n, threshold, ties, best, best_keys, SMALL)
    else:
        threshold, ties, count, _ = best_of(found_keys, n, want, 0, bounds, LARGE)
        keep(in_order, n, threshold, ties, best, best_keys, STEP)
    tl.store(found + request, count)


@triton.jit
def _offsets(lists, listed_of, offset_of, LISTS: tl.constexpr):
    """Where each list begins when they are joined in their order."""
    lanes = tl.arange(0, LISTS)
    before = 0
    for at in range(0, lists, LISTS):
        used = at + lanes < lists
        size = tl.load(listed_of + at + lanes, mask=used, other=0)
        tl.store(offset_of + at + lanes, before + tl.cumsum(size, 0) - size, mask=used)
        before += tl.sum(size, 0)


@triton.jit
def _join(
    first,
    n,
    groups_kept,
    offset_of,
    listed,
    joined,
    SLOTS: tl.constexpr,
    PARTS: tl.constexpr,
    STEP: tl.constexpr,
):
    """Moves candidates to where they are in the joined lists."""
    keys, children, list_of, index_of = listed
    joined_keys, joined_children, joined_rows = joined
    for at in range(0, n, STEP):
        entry = at + tl.arange(0, STEP)
        used = entry < n
        one = tl.load(list_of + entry, mask=used, other=0)
        index = tl.load(index_of + entry, mask=used, other=0)
        key = tl.load(keys + entry, mask=used, other=0)
        child = tl.load(children + entry, mask=used, other=0)
        place = tl.load(offset_of + one, mask=used, other=0) + index
        group = tl.load(groups_kept + one // PARTS, mask=used, other=0)
        tl.store(joined_keys + place, key, mask=used)
        tl.store(joined_children + place, child, mask=used)
        tl.store(joined_rows + place, first + group // SLOTS, mask=used)


@triton.jit
def _read_again(
    first,
    groups_kept,
    lists,
    want,
    bounds,
    room,
    joined,
    best,
    tile_max,
    facts_of,
    read,
    tiles,
    K,
    TRIE: tl.constexpr,
    STRICT: tl.constexpr,
    SLOTS: tl.constexpr,
    SHIFT: tl.constexpr,
    PARTS: tl.constexpr,
    TILES: tl.constexpr,
    LARGE: tl.constexpr,
    STEP: tl.constexpr,
):
    """Lists the candidates of all groups, or at least the best `want`; returns how many."""
    n = 0
    least, _ = bounds
    joined_keys, joined_children, joined_rows = joined
    kept, kept_keys = best
    for one in range(lists):
        if n + TILES * _TILE > room:
            tl.debug_barrier()
            threshold, ties, count, _ = best_of(joined_keys, n, want, 0, bounds, LARGE)
            keep(joined_keys, n, threshold, ties, kept, kept_keys, STEP)
            tl.debug_barrier()
            _compact(count, kept, joined, STEP)
            tl.debug_barrier()
            n = count
            # what is equal to the last of them is behind it
            least = tl.maximum(least, threshold + 1)
        group = tl.load(groups_kept + one // PARTS)
        row = first + group // SLOTS
        key, child = candidates(
            row, group % SLOTS, one % PARTS, least, tile_max, facts_of, read, tiles, K, TRIE,
            STRICT, SLOTS, SHIFT, TILES,
        )  # fmt: skip
        taken = key >= least
        place, n = places(taken, n)
        tl.store(joined_keys + place, key, mask=taken)
        tl.store(joined_children + place, child, mask=taken)
        tl.store(joined_rows + place, tl.zeros_like(child) + row, mask=taken)
    return n


@triton.jit
def _compact(count, kept, joined, STEP: tl.constexpr):
    """Moves the kept of a list to its front, where none is ahead of its place."""
    joined_keys, joined_children, joined_rows = joined
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
