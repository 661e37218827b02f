"""Third launch of a beam step: each row lists its candidates that are not below the floor.

Lists of a request share an area, in which rows take places as they come: little more than W
candidates, unless many are equal or a few rows have them all. A row's own are in code order.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, misc"
# Kernels are typed by Triton, which has no types of Python's.

from __future__ import annotations

import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from xgr.backends.cuda.beam_step.keys import EMPTY, clamped, key_of, score_key, score_of
from xgr.backends.cuda.beam_step.scan import TILE, group_shift
from xgr.backends.cuda.catalogue.level import codes_of

# candidates that the area of a request has room for, for each of its output rows; and `SPARE` more
ROOM = 16

_TILE, _ROOM = tl.constexpr(TILE), tl.constexpr(ROOM)


@triton.jit(do_not_specialize=["level", "B", "K", "tiles"])
def open_rows(
    group_max,
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
    floor,
    last_group,
    listed,
    opened_of,
    begin_of,
    listed_of,
    keys,
    children,
    B,
    K,
    tiles,
    TRIE: tl.constexpr,
    STRICT: tl.constexpr,
    SLOTS: tl.constexpr,
    LOG: tl.constexpr,
    SPARE: tl.constexpr,
    REQUESTS: tl.constexpr,
    LOOKED: tl.constexpr,
    TILES: tl.constexpr,
    CHAINED: tl.constexpr,
):
    """Grid (R). `LOOKED` tiles are held against the floor at once, `TILES` opened at once.

    A row's maxima of tiles give way to the numbers of those that it opens. Where the area is full
    the row lists nothing, and `listed` says how many there would be.
    """
    if CHAINED:
        gdc_launch_dependents()
        gdc_wait()
    row = tl.program_id(0)
    # loads that do not wait for each other
    lanes = tl.arange(0, REQUESTS)
    first = tl.load(row_start + lanes, mask=lanes < B, other=0)
    end = tl.load(row_start + 1 + lanes, mask=lanes < B, other=0)
    alive = tl.load(live + lanes, mask=lanes < B, other=0)
    floors = tl.load(floor + lanes, mask=lanes < B, other=0)
    lasts = tl.load(last_group + lanes, mask=lanes < B, other=0)
    targets = tl.load(row_start_out + lanes, mask=lanes < B, other=0)
    ends = tl.load(row_start_out + 1 + lanes, mask=lanes < B, other=0)
    slots = tl.arange(0, SLOTS)
    best = tl.load(group_max + row.to(tl.int64) * SLOTS + slots)
    mine = (row >= first) & (row < end)
    if tl.sum((mine & (row - first < alive)).to(tl.int32), 0) == 0:
        return
    request = tl.sum(tl.where(mine, lanes, 0), 0)
    least = tl.sum(tl.where(mine, floors, 0), 0)
    last = tl.sum(tl.where(mine, lasts, 0), 0)
    target = tl.sum(tl.where(mine, targets, 0), 0)
    room = tl.sum(tl.where(mine, ends, 0), 0) - target
    group = (row - tl.sum(tl.where(mine, first, 0), 0)) * SLOTS + slots
    counts = (best > least) | ((best == least) & (group <= last))
    groups = tl.sum(counts.to(tl.int32) << slots, 0)
    opened, n, begin = 0, 0, 0
    if groups != 0:
        tile_max += row.to(tl.int64) * tiles
        low, size, base, lse = facts(row, low_of, count_of, cumulative, norm, K, TRIE)
        shift = group_shift(size, SLOTS, LOG)
        opened = _list_tiles(tile_max, size, groups, shift, least, base, lse, STRICT, LOOKED)
        tl.debug_barrier()
        # most rows open no more than these, which stay in registers
        key, child = candidates(
            row, 0, opened, tile_max, legal, tiles, low, size, base, lse, logits, stride_row,
            stride_code, descriptor, code, level, TRIE, STRICT, TILES,
        )  # fmt: skip
        n = tl.sum((key >= least).to(tl.int32))
        for at in range(TILES, opened, TILES):
            more, _ = candidates(
                row, at, opened, tile_max, legal, tiles, low, size, base, lse, logits, stride_row,
                stride_code, descriptor, code, level, TRIE, STRICT, TILES,
            )  # fmt: skip
            n += tl.sum((more >= least).to(tl.int32))
        begin = tl.atomic_add(listed + request, n, sem="relaxed")
        if begin + n <= _ROOM * room + SPARE:
            place = area(request, target, SPARE) + begin
            to, before = places(key >= least, 0)
            tl.store(keys + place + to, key, mask=key >= least)
            tl.store(children + place + to, child, mask=key >= least)
            for at in range(TILES, opened, TILES):
                more, child = candidates(
                    row, at, opened, tile_max, legal, tiles, low, size, base, lse, logits,
                    stride_row, stride_code, descriptor, code, level, TRIE, STRICT, TILES,
                )  # fmt: skip
                to, before = places(more >= least, before)
                tl.store(keys + place + to, more, mask=more >= least)
                tl.store(children + place + to, child, mask=more >= least)
    tl.store(opened_of + row, opened)
    tl.store(begin_of + row, begin)
    tl.store(listed_of + row, n)


@triton.jit
def _list_tiles(
    tile_max,
    size,
    groups,
    shift,
    least,
    base,
    lse,
    STRICT: tl.constexpr,
    LOOKED: tl.constexpr,
):
    """Puts the tiles that are not below the floor in the place of all, and returns how many."""
    n = 0
    for at in range(0, tl.cdiv(size, _TILE), LOOKED):
        tile = at + tl.arange(0, LOOKED)
        best = tl.load(tile_max + tile, mask=tile * _TILE < size, other=EMPTY)
        key = score_key(best, base, lse, STRICT)
        taken = (key >= least) & (((groups >> (tile >> shift)) & 1) == 1)
        one = taken.to(tl.int32)
        place = n + tl.cumsum(one, 0) - one
        # all have read what some now overwrite
        tl.debug_barrier()
        tl.store(tile_max + place, tile, mask=taken)
        n += tl.sum(one, 0)
    return n


@triton.jit
def candidates(
    row,
    at,
    opened,
    tile_list,
    legal,
    tiles,
    low,
    size,
    base,
    lse,
    logits,
    stride_row,
    stride_code,
    descriptor,
    code,
    level,
    TRIE: tl.constexpr,
    STRICT: tl.constexpr,
    TILES: tl.constexpr,
):
    """Keys of the children of tile_list[at : at + TILES], and their numbers: [TILES, 32] each."""
    place = at + tl.arange(0, TILES)
    used = place < opened
    tile = tl.load(tile_list + place, mask=used, other=0)
    lane = tl.arange(0, _TILE)[None, :]
    child = tile[:, None] * _TILE + lane
    inside = used[:, None] & (child < size)
    if legal is not None:
        word = tl.load(legal + row.to(tl.int64) * tiles + tile, mask=used, other=0)
        inside &= ((word[:, None] >> lane) & 1) == 1
    column = child
    if TRIE:
        column = tl.load(codes_of(descriptor, code, level) + low + child, mask=inside, other=0)
    spot = row.to(tl.int64) * stride_row + column.to(tl.int64) * stride_code
    logit = tl.load(logits + spot, mask=inside, other=-float("inf")).to(tl.float32)
    score = score_of(logit, base, lse)
    if STRICT:
        inside &= score != -float("inf")
    return tl.where(inside, key_of(clamped(score)), EMPTY), child


@triton.jit
def facts(row, low_of, count_of, cumulative, norm, K, TRIE: tl.constexpr):
    """Of a row: its first child, how many, its beam's score, what is subtracted from logits."""
    low, size, lse = 0, K, 0.0
    if TRIE:
        low, size = tl.load(low_of + row), tl.load(count_of + row)
    if norm is not None:
        lse = tl.load(norm + row)
    return low, size, tl.load(cumulative + row), lse


@triton.jit
def area(request, target, SPARE: tl.constexpr):
    """Where the candidates of a request begin; `target` is its first output row."""
    return target.to(tl.int64) * _ROOM + request.to(tl.int64) * SPARE


@triton.jit
def places(taken, before):
    """Where the taken of a block go in its order, and how many there are then."""
    one = taken.to(tl.int32)
    of_row = tl.sum(one, 1)
    start = before + tl.cumsum(of_row, 0) - of_row
    return start[:, None] + tl.cumsum(one, 1) - one, before + tl.sum(of_row, 0)
