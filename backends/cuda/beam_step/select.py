"""Second launch of a beam step: one block a request narrows its groups down to survivors.

The best W candidates lie in the best W groups, where maxima are ranked as candidates are: a group
that is left out has W others before it, each with a candidate before all of its own. The least
maximum kept is a floor that no survivor is below. So the tiles of W groups are held against the
floor, then the children of the tiles that remain, and an exact cut is made among what is left:
little more than W, unless many candidates are equal or a few rows have them all. Where too many
tiles remain, they are cut first, exactly as groups are. Lists stay in (row, code) order, so equal
keys are cut by their order and survivors come without a sort.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, misc"
# Kernels are typed by Triton, which has no types of Python's.

from __future__ import annotations

import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from xgr.backends.cuda.beam_step.cut import best_of, keep
from xgr.backends.cuda.beam_step.keys import (
    EMPTY,
    POSITIVE_INFINITY,
    clamped,
    key_of,
    score_key,
    score_of,
)
from xgr.backends.cuda.beam_step.scan import TILE, group_shift
from xgr.backends.cuda.catalogue.level import codes_of
from xgr.ops.beam_step import NAN_LOGIT

# things a request may keep before the last cut, for each survivor; workspaces have room for them
ROOM = 2

_TILE, _ROOM = tl.constexpr(TILE), tl.constexpr(ROOM)
_NAN_LOGIT = tl.constexpr(NAN_LOGIT)
# things of a list that are looked up at once
_LANES = tl.constexpr(512)


@triton.jit(do_not_specialize=["level", "K", "tiles"])
def select(
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
    out_width,
    groups_kept,
    group_first,
    group_count,
    group_base,
    group_norm,
    tile_keys,
    tile_ids,
    tiles_kept,
    tile_row,
    tile_first,
    tile_word,
    tile_base,
    tile_norm,
    keys,
    entries,
    kept,
    kept_keys,
    found,
    status,
    K,
    tiles,
    TRIE: tl.constexpr,
    STRICT: tl.constexpr,
    SLOTS: tl.constexpr,
    LOG: tl.constexpr,
    CHUNK: tl.constexpr,
    LARGE: tl.constexpr,
    SMALL: tl.constexpr,
    STEP: tl.constexpr,
    GROUPS: tl.constexpr,
    TILES: tl.constexpr,
    CHAINED: tl.constexpr,
):
    """Grid (B). A NaN or +inf among the candidates of a request leaves none.

    `CHAINED`: launched before the scan has ended, and lets the next launch begin.
    `CHUNK`, `LARGE`, `SMALL` are the keys in registers for a cut of groups, tiles or candidates,
    few candidates; `STEP` those that are moved at once; `GROUPS`, `TILES` what is opened at once.
    """
    if CHAINED:
        gdc_launch_dependents()
        gdc_wait()
    RATIO: tl.constexpr = 1 << LOG
    request = tl.program_id(0)
    target = tl.load(row_start_out + request)
    room = tl.load(row_start_out + request + 1) - target
    want = tl.maximum(tl.minimum(tl.load(out_width + request), room), 0)
    first, rows = tl.load(row_start + request), tl.load(live + request)
    # lists of a request lie where its output rows do
    spread = target.to(tl.int64) * _ROOM
    group_max += first.to(tl.int64) * SLOTS

    n = rows * SLOTS
    threshold, ties, groups, greatest = best_of(group_max, n, want, want // 8, CHUNK)
    if greatest >= POSITIVE_INFINITY:
        groups = 0
        if status is not None:
            tl.store(status + request, tl.load(status + request) | _NAN_LOGIT)
    count = 0
    if (groups > 0) & (want > 0):
        keep(group_max, n, threshold, ties, groups_kept + spread, None, STEP)
        tl.debug_barrier()
        floor = tl.where(ties == 0, threshold + 1, threshold)
        _look_up_groups(
            groups_kept + spread, groups, group_first + spread, group_count + spread,
            group_base + spread, group_norm + spread, first, count_of, cumulative, norm, K, tiles,
            TRIE, SLOTS, LOG,
        )  # fmt: skip
        tl.debug_barrier()
        listed, ids = tile_keys + spread * RATIO, tile_ids + spread * RATIO
        opened = _open_groups(
            groups, floor, group_first + spread, group_count + spread, group_base + spread,
            group_norm + spread, tile_max + first.to(tl.int64) * tiles, listed, ids,
            STRICT, LOG, GROUPS,
        )  # fmt: skip
        tl.debug_barrier()
        cut = opened > _ROOM * want
        if cut:
            threshold, ties, remain, _ = best_of(listed, opened, want, want // 8, LARGE)
            keep(listed, opened, threshold, ties, tiles_kept + spread, None, STEP)
            tl.debug_barrier()
            floor = tl.where(ties == 0, threshold + 1, threshold)
            opened = remain
        _look_up_tiles(
            tiles_kept + spread, ids, opened, cut, tile_row + spread, tile_first + spread,
            tile_word + spread, tile_base + spread, tile_norm + spread, first, low_of, count_of,
            legal, cumulative, norm, K, tiles, TRIE,
        )  # fmt: skip
        tl.debug_barrier()
        found_here = _open_tiles(
            opened, floor, tile_row + spread, tile_first + spread, tile_word + spread,
            tile_base + spread, tile_norm + spread, logits, stride_row, stride_code, descriptor,
            code, level, keys + spread * _TILE, entries + spread * _TILE, TRIE, STRICT, TILES,
        )  # fmt: skip
        tl.debug_barrier()
        there = keys + spread * _TILE
        if found_here <= SMALL:
            threshold, ties, count, _ = best_of(there, found_here, want, 0, SMALL)
        else:
            threshold, ties, count, _ = best_of(there, found_here, want, 0, LARGE)
        keep(there, found_here, threshold, ties, kept + target, kept_keys + target, STEP)
    tl.store(found + request, count)


@triton.jit
def _look_up_groups(
    groups_kept,
    groups,
    group_first,
    group_count,
    group_base,
    group_norm,
    first,
    count_of,
    cumulative,
    norm,
    K,
    tiles,
    TRIE: tl.constexpr,
    SLOTS: tl.constexpr,
    LOG: tl.constexpr,
):
    """What opening a group takes, in lists: its tiles, and how their logits become scores."""
    for at in range(0, groups, _LANES):
        place = at + tl.arange(0, _LANES)
        used = place < groups
        entry = tl.load(groups_kept + place, mask=used, other=0)
        here, slot = entry // SLOTS, entry % SLOTS
        size, base, lse = _facts(first + here, used, count_of, cumulative, norm, K, TRIE)
        shift = group_shift(size, SLOTS, LOG)
        begin = slot << shift
        count = tl.minimum(1 << shift, tl.cdiv(size, _TILE) - begin)
        # tiles are numbered through the rows of a request
        tl.store(group_first + place, here * tiles + begin, mask=used)
        tl.store(group_count + place, count, mask=used)
        tl.store(group_base + place, base, mask=used)
        tl.store(group_norm + place, lse, mask=used)


@triton.jit
def _open_groups(
    groups,
    floor,
    group_first,
    group_count,
    group_base,
    group_norm,
    tile_max,
    tile_keys,
    tile_ids,
    STRICT: tl.constexpr,
    LOG: tl.constexpr,
    GROUPS: tl.constexpr,
):
    """Lists the tiles of the groups that are not below the floor, and returns how many."""
    lane = tl.arange(0, 1 << LOG)[None, :]
    before = 0
    for at in range(0, groups, GROUPS):
        place = at + tl.arange(0, GROUPS)
        used = place < groups
        count = tl.load(group_count + place, mask=used, other=0)
        begin = tl.load(group_first + place, mask=used, other=0)
        base = tl.load(group_base + place, mask=used, other=0.0)
        lse = tl.load(group_norm + place, mask=used, other=0.0)
        tile = begin[:, None] + lane
        best = tl.load(tile_max + tile, mask=lane < count[:, None], other=EMPTY)
        key = score_key(best, base[:, None], lse[:, None], STRICT)
        taken = key >= floor
        at_place, before = _places(taken, before)
        tl.store(tile_keys + at_place, key, mask=taken)
        tl.store(tile_ids + at_place, tile, mask=taken)
    return before


@triton.jit
def _look_up_tiles(
    tiles_kept,
    tile_ids,
    opened,
    cut,
    tile_row,
    tile_first,
    tile_word,
    tile_base,
    tile_norm,
    first,
    low_of,
    count_of,
    legal,
    cumulative,
    norm,
    K,
    tiles,
    TRIE: tl.constexpr,
):
    """What opening a tile takes, in lists: its row, its first child or code, which ones count."""
    for at in range(0, opened, _LANES):
        place = at + tl.arange(0, _LANES)
        used = place < opened
        # a list that was not cut is read as it is
        chosen = tl.load(tiles_kept + place, mask=used & cut, other=0)
        chosen = tl.where(cut, chosen, place)
        tile = tl.load(tile_ids + chosen, mask=used, other=0)
        row, of_row = first + tile // tiles, tile % tiles
        size, base, lse = _facts(row, used, count_of, cumulative, norm, K, TRIE)
        begin = of_row * _TILE
        if legal is not None:
            word = tl.load(legal + row.to(tl.int64) * tiles + of_row, mask=used, other=0)
        else:
            left = tl.minimum(size - begin, _TILE)
            word = tl.where(left == _TILE, -1, (1 << left) - 1)
        if TRIE:
            begin += tl.load(low_of + row, mask=used, other=0)
        tl.store(tile_row + place, row, mask=used)
        tl.store(tile_first + place, begin, mask=used)
        tl.store(tile_word + place, word, mask=used)
        tl.store(tile_base + place, base, mask=used)
        tl.store(tile_norm + place, lse, mask=used)


@triton.jit
def _open_tiles(
    opened,
    floor,
    tile_row,
    tile_first,
    tile_word,
    tile_base,
    tile_norm,
    logits,
    stride_row,
    stride_code,
    descriptor,
    code,
    level,
    keys,
    entries,
    TRIE: tl.constexpr,
    STRICT: tl.constexpr,
    TILES: tl.constexpr,
):
    """Lists the candidates of the tiles that are not below the floor, and returns how many.

    An entry is 32 times the tile's place in the lists of tiles, and the child's in it.
    """
    lane = tl.arange(0, _TILE)[None, :]
    if TRIE:
        code = codes_of(descriptor, code, level)
    before = 0
    for at in range(0, opened, TILES):
        place = at + tl.arange(0, TILES)
        used = place < opened
        word = tl.load(tile_word + place, mask=used, other=0)
        row = tl.load(tile_row + place, mask=used, other=0)
        begin = tl.load(tile_first + place, mask=used, other=0)
        base = tl.load(tile_base + place, mask=used, other=0.0)
        lse = tl.load(tile_norm + place, mask=used, other=0.0)
        column = begin[:, None] + lane
        inside = ((word[:, None] >> lane) & 1) == 1
        if TRIE:
            column = tl.load(code + column, mask=inside, other=0)
        spot = row.to(tl.int64)[:, None] * stride_row + column.to(tl.int64) * stride_code
        logit = tl.load(logits + spot, mask=inside, other=-float("inf")).to(tl.float32)
        score = score_of(logit, base[:, None], lse[:, None])
        if STRICT:
            inside &= score != -float("inf")
        key = tl.where(inside, key_of(clamped(score)), EMPTY)
        taken = key >= floor
        at_place, before = _places(taken, before)
        tl.store(keys + at_place, key, mask=taken)
        tl.store(entries + at_place, place[:, None] * _TILE + lane, mask=taken)
    return before


@triton.jit
def _facts(row, used, count_of, cumulative, norm, K, TRIE: tl.constexpr):
    """Children of rows, the scores of their beams, and what is subtracted from their logits."""
    size = tl.zeros_like(row) + K
    if TRIE:
        size = tl.load(count_of + row, mask=used, other=0)
    base = tl.load(cumulative + row, mask=used, other=0.0)
    lse = tl.zeros_like(base)
    if norm is not None:
        lse = tl.load(norm + row, mask=used, other=0.0)
    return size, base, lse


@triton.jit
def _places(taken, before):
    """Where the taken of a block go in its order, and how many there are then."""
    one = taken.to(tl.int32)
    of_row = tl.sum(one, 1)
    start = before + tl.cumsum(of_row, 0) - of_row
    return start[:, None] + tl.cumsum(one, 1) - one, before + tl.sum(of_row, 0)
