"""First launch of a beam step: one read of each live row, a block each.

A tile is 32 consecutive children of a row (codes where there is no catalogue), of four units. At
most `SLOTS` groups divide the units of a row, each a power of two of consecutive ones and no more
than needed, so that a row of few children has as many groups as units: a group may be a part of a
tile, or many. Where there are few rows each tile is a group. The maxima of tiles are of logits, as
keys: the row's log-sum-exp is known at its end. Those of groups are of scores. With filters one
word a tile says which children live.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, misc"
# Kernels are typed by Triton, which has no types of Python's.

from __future__ import annotations

import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents

from xgr.backends.cuda.beam_step.keys import EMPTY, NAN, closed, fold, is_nan, key_of, score_key
from xgr.backends.cuda.catalogue.level import children_of, codes_of, kept, run_of

# children of a tile: as many as a word has bits
TILE = 32
# children of a unit, the least that a group has
UNIT = 8
# in place of the size of a group: each tile is one, of all rows
EACH = -1

# what the log-sum-exp is taken over, besides "given" (0): the row, or the node's children
ROW, CHILDREN = 1, 2

_TILE, _UNIT = tl.constexpr(TILE), tl.constexpr(UNIT)
_UNITS, _TILE_LOG = tl.constexpr(TILE // UNIT), tl.constexpr((TILE // UNIT).bit_length() - 1)
_EACH, _ROW, _CHILDREN = tl.constexpr(EACH), tl.constexpr(ROW), tl.constexpr(CHILDREN)


# K is specialised: rows of a multiple of 16 codes are read 16 bytes at a time
@triton.jit(do_not_specialize=["level", "nodes_here", "nodes_above", "B", "tiles"])
def scan_rows(
    logits,
    stride_row,
    stride_code,
    node,
    row_start,
    live,
    descriptor,
    code,
    first_child,
    words,
    kind,
    mask,
    list_start,
    listed,
    level,
    nodes_here,
    nodes_above,
    mask_pitch,
    cumulative,
    norm,
    low_of,
    count_of,
    tile_max,
    group_max,
    legal,
    B,
    K,
    tiles,
    TRIE: tl.constexpr,
    ROOT: tl.constexpr,
    NORM: tl.constexpr,
    STRICT: tl.constexpr,
    SLOTS: tl.constexpr,
    SHIFT: tl.constexpr,
    REQUESTS: tl.constexpr,
    BLOCK: tl.constexpr,
    GATHERED: tl.constexpr,
    CHAINED: tl.constexpr,
):
    """Grid (R). Rows are read `BLOCK` codes at once, and children looked up `GATHERED` at once.

    2^SHIFT is the units of a group of a whole row. `CHAINED` lets the next launch begin.
    """
    if CHAINED:
        gdc_launch_dependents()
    row = tl.program_id(0)
    # loads that do not wait for each other
    lanes = tl.arange(0, REQUESTS)
    first = tl.load(row_start + lanes, mask=lanes < B, other=0)
    end = tl.load(row_start + 1 + lanes, mask=lanes < B, other=0)
    alive = tl.load(live + lanes, mask=lanes < B, other=0)
    base = tl.load(cumulative + row)
    if TRIE:
        parent = tl.load(node + row)
    mine = (row >= first) & (row < end)
    if tl.sum((mine & (row - first < alive)).to(tl.int32), 0) == 0:
        return
    request = tl.sum(tl.where(mine, lanes, 0), 0)
    logits += row.to(tl.int64) * stride_row
    tile_max += row.to(tl.int64) * tiles
    if legal is not None:
        legal += row.to(tl.int64) * tiles
    top = -float("inf")
    total = 0.0
    best = tl.full([SLOTS], EMPTY, tl.int32)
    if TRIE:
        low, count = children_of(
            parent, descriptor, first_child, nodes_here, nodes_above, level, ROOT
        )
        code = codes_of(descriptor, code, level)
        tl.store(low_of + row, low)
        tl.store(count_of + row, count)
        # as many children as codes: each is its own column
        if count == K:
            top, total, best = _read(
                logits, stride_code, code, low, K, request, descriptor, words, kind, mask,
                list_start, listed, level, mask_pitch, tile_max, legal, top, total, best,
                False, NORM != 0, True, SLOTS, SHIFT, BLOCK,
            )  # fmt: skip
        else:
            if NORM == _ROW:
                top, total, best = _read(
                    logits, stride_code, code, low, K, request, descriptor, words, kind, mask,
                    list_start, listed, level, mask_pitch, tile_max, legal, top, total, best,
                    False, True, False, SLOTS, SHIFT, BLOCK,
                )  # fmt: skip
            top, total, best = _read(
                logits, stride_code, code, low, count, request, descriptor, words, kind, mask,
                list_start, listed, level, mask_pitch, tile_max, legal, top, total, best,
                True, NORM == _CHILDREN, True, SLOTS, SHIFT, GATHERED,
            )  # fmt: skip
    else:
        top, total, best = _read(
            logits, stride_code, code, 0, K, request, descriptor, words, kind, mask,
            list_start, listed, level, mask_pitch, tile_max, legal, top, total, best,
            False, NORM != 0, True, SLOTS, SHIFT, BLOCK,
        )  # fmt: skip
    lse = 0.0
    if NORM != 0:
        lse = closed(top, total)
        tl.store(norm + row, lse)
    elif norm is not None:
        lse = tl.load(norm + row)
    slot = tl.arange(0, SLOTS)
    if SHIFT == _EACH:
        tl.debug_barrier()
        size = K
        if TRIE:
            size = count
        best = tl.load(tile_max + slot, mask=slot * _TILE < size, other=EMPTY)
    group = row.to(tl.int64) * SLOTS + slot
    tl.store(group_max + group, score_key(best, base, lse, STRICT))


@triton.jit
def _read(
    logits,
    stride_code,
    code,
    low,
    count,
    request,
    descriptor,
    words,
    kind,
    mask,
    list_start,
    listed,
    level,
    mask_pitch,
    tile_max,
    legal,
    top,
    total,
    best,
    GATHER: tl.constexpr,
    FOLD: tl.constexpr,
    MARK: tl.constexpr,
    SLOTS: tl.constexpr,
    SHIFT: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """One pass over `count` columns or, to `GATHER`, over the codes of as many children.

    `FOLD` adds to the log-sum-exp, `MARK` writes tiles and takes the maxima of groups.
    """
    TILES: tl.constexpr = BLOCK // _TILE
    rank = tl.arange(0, TILES)
    lane = tl.arange(0, _TILE)
    if MARK and legal is not None:
        rule, begin, end = run_of(request, low, count, kind, list_start, listed)
        slot = tl.load(mask + request)
    slots = tl.arange(0, SLOTS)
    shift = group_shift(count, SLOTS, SHIFT)
    # groups of a whole row are of whole tiles, and of so many that are read at once
    WHOLE: tl.constexpr = SHIFT == _EACH or SHIFT >= _TILE_LOG
    OF_GROUP: tl.constexpr = max((1 << max(SHIFT, 0)) // _UNITS, 1)
    RATIO: tl.constexpr = min(OF_GROUP, TILES)
    for at in range(0, count, BLOCK):
        entry = at + rank[:, None] * _TILE + lane[None, :]
        inside = entry < count
        column = entry
        if GATHER:
            column = tl.load(code + low + entry, mask=inside, other=0)
        x = tl.load(
            logits + column.to(tl.int64) * stride_code, mask=inside, other=-float("inf")
        ).to(tl.float32)
        most = tl.max(x, 1)
        if FOLD:
            top, total = fold(top, total, x, tl.max(most, 0))
        if MARK:
            tile = at // _TILE + rank
            some = tile * _TILE < count
            alive = inside
            if legal is not None:
                alive = kept(
                    low + entry, inside, rule, begin, end, listed, slot,
                    descriptor, words, mask_pitch, level,
                )  # fmt: skip
                word = tl.sum(alive.to(tl.int32) << lane[None, :], 1)
                tl.store(legal + tile, word, mask=some)
            if GATHER or not WHOLE:
                of_unit = tl.reshape(tl.where(alive, key_of(x), EMPTY), [TILES * _UNITS, _UNIT])
                part = tl.max(of_unit, 1)
                group = (at // _UNIT + tl.arange(0, TILES * _UNITS)) >> shift
                key = tl.max(tl.reshape(part, [TILES, _UNITS]), 1)
            else:
                if legal is not None:
                    x = tl.where(alive, x, -float("inf"))
                    most = tl.max(x, 1)
                    some &= word != 0
                key = tl.where(some, key_of(most), EMPTY)
                if not FOLD:
                    # a maximum may pass over NaN; where there is a sum, that shows it
                    spoilt = tl.max(is_nan(x).to(tl.int32), 1) != 0
                    key = tl.where(spoilt, NAN, key)
                if SHIFT != _EACH:
                    part = tl.max(tl.reshape(key, [TILES // RATIO, RATIO]), 1)
                    group = at // (_TILE * OF_GROUP) + tl.arange(0, TILES // RATIO)
            tl.store(tile_max + tile, key, mask=tile * _TILE < count)
            if SHIFT != _EACH:
                of_group = group[:, None] == slots[None, :]
                best = tl.maximum(best, tl.max(tl.where(of_group, part[:, None], EMPTY), 0))
    return top, total, best


@triton.jit
def group_shift(count, SLOTS: tl.constexpr, SHIFT: tl.constexpr):
    """Log2 of the units of a group in rows of so many children: SHIFT in whole rows."""
    shift = count * 0
    if SHIFT == _EACH:
        shift += _TILE_LOG
    else:
        least = tl.cdiv(tl.cdiv(count, _UNIT), SLOTS)
        for doubled in tl.static_range(SHIFT):
            shift += (least > (1 << doubled)).to(tl.int32)
    return shift
