"""Third launch of a beam step: each kept group lists its candidates that are not below the floor.

Most tiles of a group are below the floor too: what is left of them is looked up a few tiles at a
time, by one warp. Lists of a request share an area, in which they take places as they come: little
more than W candidates, unless many are equal or a few rows have them all. Each says which list it
is of and where in it, in code order.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, misc"
# Kernels are typed by Triton, which has no types of Python's.

from __future__ import annotations

import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from xgr.backends.cuda.beam_step.floor import places_of
from xgr.backends.cuda.beam_step.keys import EMPTY, clamped, key_of, score_key, score_of
from xgr.backends.cuda.beam_step.scan import TILE, UNIT, group_shift
from xgr.backends.cuda.catalogue.level import codes_of

# candidates that the area of a request has room for, for each of its output rows; and `SPARE` more
ROOM = 16

_TILE, _UNIT, _ROOM = tl.constexpr(TILE), tl.constexpr(UNIT), tl.constexpr(ROOM)


@triton.jit(do_not_specialize=["level", "B", "K", "tiles"])
def open_groups(
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
    floor,
    listed,
    listed_of,
    keys,
    children,
    list_of,
    index_of,
    B,
    K,
    tiles,
    TRIE: tl.constexpr,
    STRICT: tl.constexpr,
    SLOTS: tl.constexpr,
    SHIFT: tl.constexpr,
    PARTS: tl.constexpr,
    SPARE: tl.constexpr,
    REQUESTS: tl.constexpr,
    TILES: tl.constexpr,
    FEW: tl.constexpr,
    LOOKED: tl.constexpr,
    CHAINED: tl.constexpr,
):
    """Grid (places of groups, PARTS): `TILES` tiles of a group, a list each.

    Of those that are not below the floor `LOOKED` are looked up at once, or up to `FEW`.

    Where the area is full nothing is listed, and `listed` says how many there would be.
    """
    if CHAINED:
        gdc_launch_dependents()
    place, part = tl.program_id(0), tl.program_id(1)
    lanes = tl.arange(0, REQUESTS)
    first = tl.load(row_start + lanes, mask=lanes < B, other=0)
    target = tl.load(row_start_out + lanes, mask=lanes < B, other=0)
    end = tl.load(row_start_out + 1 + lanes, mask=lanes < B, other=0)
    if CHAINED:
        gdc_wait()
    # loads that do not wait for each other
    groups = tl.load(groups_of + lanes, mask=lanes < B, other=0)
    least = tl.load(floor + lanes, mask=lanes < B, other=0)
    group = tl.load(groups_kept + place)
    behind = place - places_of(target)
    mine = (behind >= 0) & (behind < groups)
    if tl.sum(mine.to(tl.int32), 0) == 0:
        return
    request = tl.sum(tl.where(mine, lanes, 0), 0)
    first = tl.sum(tl.where(mine, first, 0), 0)
    target, end = tl.sum(tl.where(mine, target, 0), 0), tl.sum(tl.where(mine, end, 0), 0)
    least = tl.sum(tl.where(mine, least, 0), 0)
    row = first + group // SLOTS
    facts = _facts(row, low_of, count_of, cumulative, norm, K, TRIE)
    read = (legal, logits, stride_row, stride_code, descriptor, code, level)
    tile, here, bounds = _tiles_of(
        row, group % SLOTS, part, least, tile_max, facts, tiles, STRICT, SLOTS, SHIFT, TILES
    )
    one = here.to(tl.int32)
    rank = tl.where(here, tl.cumsum(one, 0) - one, TILES)
    many = tl.sum(one, 0)
    to_list = place * PARTS + part
    room = _ROOM * (end - target) + SPARE
    begin = area(request, target, SPARE)
    lists = (
        listed + request, keys + begin, children + begin, list_of + begin, index_of + begin,
    )  # fmt: skip
    n = 0
    if many <= FEW:
        # of most groups: nothing is computed for tiles that there are not
        if many > 0:
            n = _list(
                0, n, tile, rank, many, least, room, to_list, lists, row, bounds, facts, read,
                tiles, TRIE, STRICT, FEW,
            )  # fmt: skip
    else:
        for at in range(0, many, LOOKED):
            n = _list(
                at, n, tile, rank, many, least, room, to_list, lists, row, bounds, facts, read,
                tiles, TRIE, STRICT, LOOKED,
            )  # fmt: skip
    tl.store(listed_of + to_list, n)


@triton.jit
def _list(
    at,
    n,
    tile,
    rank,
    many,
    least,
    room,
    to_list,
    lists,
    row,
    bounds,
    facts,
    read,
    tiles,
    TRIE: tl.constexpr,
    STRICT: tl.constexpr,
    LOOKED: tl.constexpr,
):
    """Adds to a list of `n` what `LOOKED` tiles have, the `at`-th and those behind it."""
    turn = at + tl.arange(0, LOOKED)
    looked = tl.sum(tl.where(rank[:, None] == turn[None, :], tile[:, None], 0), 0)
    key, child = _keys_of(row, looked, turn < many, bounds, facts, read, tiles, TRIE, STRICT)
    taken = key >= least
    index, count = places(taken, 0)
    listed, keys, children, list_of, index_of = lists
    to = tl.atomic_add(listed, count, sem="relaxed")
    if to + count <= room:
        tl.store(keys + to + index, key, mask=taken)
        tl.store(children + to + index, child, mask=taken)
        tl.store(list_of + to + index, tl.zeros_like(child) + to_list, mask=taken)
        tl.store(index_of + to + index, n + index, mask=taken)
    return n + count


@triton.jit
def candidates(
    row,
    slot,
    part,
    least,
    tile_max,
    facts_of,
    read,
    tiles,
    K,
    TRIE: tl.constexpr,
    STRICT: tl.constexpr,
    SLOTS: tl.constexpr,
    SHIFT: tl.constexpr,
    TILES: tl.constexpr,
):
    """Keys of children in tiles that are not below `least`, and their numbers: [TILES, 32] each.

    Of group `slot` of a row, whose parts are `TILES` tiles each. `facts_of` are low_of, count_of,
    cumulative and norm; `read` is what `_keys_of` reads.
    """
    low_of, count_of, cumulative, norm = facts_of
    facts = _facts(row, low_of, count_of, cumulative, norm, K, TRIE)
    tile, here, bounds = _tiles_of(
        row, slot, part, least, tile_max, facts, tiles, STRICT, SLOTS, SHIFT, TILES
    )
    return _keys_of(row, tile, here, bounds, facts, read, tiles, TRIE, STRICT)


@triton.jit
def _tiles_of(
    row,
    slot,
    part,
    least,
    tile_max,
    facts,
    tiles,
    STRICT: tl.constexpr,
    SLOTS: tl.constexpr,
    SHIFT: tl.constexpr,
    TILES: tl.constexpr,
):
    """Tiles of a part of a group, which of them are not below `least`, and the group's children."""
    _, size, base, lse = facts
    units = group_shift(size, SLOTS, SHIFT)
    begin = (slot << units) * _UNIT
    end = tl.minimum(begin + (_UNIT << units), size)
    # a group of less than a tile may begin within one
    tile = begin // _TILE + part * TILES + tl.arange(0, TILES)
    here = tile * _TILE < end
    best = tl.load(tile_max + row.to(tl.int64) * tiles + tile, mask=here, other=EMPTY)
    return tile, here & (score_key(best, base, lse, STRICT) >= least), (begin, end)


@triton.jit
def _keys_of(row, tile, here, bounds, facts, read, tiles, TRIE: tl.constexpr, STRICT: tl.constexpr):
    """Keys of the children in some tiles of a group, and their numbers: [tiles, 32] each."""
    legal, logits, stride_row, stride_code, descriptor, code, level = read
    low, _, base, lse = facts
    begin, end = bounds
    lane = tl.arange(0, _TILE)[None, :]
    child = tile[:, None] * _TILE + lane
    inside = here[:, None] & (child >= begin) & (child < end)
    if legal is not None:
        word = tl.load(legal + row.to(tl.int64) * tiles + tile, mask=here, other=0)
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
def _facts(row, low_of, count_of, cumulative, norm, K, TRIE: tl.constexpr):
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
