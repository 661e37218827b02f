"""First pass of a beam step: one read of each live row gives the maxima of its tiles.

A tile is 32 consecutive children of a row (codes where there is no catalogue), a group is
`RATIO` tiles. The maxima are of logits, as keys: a row's normaliser may not be known before its
end. With filters the pass also writes one word a tile, a bit for each child that lives.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, misc"
# Kernels are typed by Triton, which has no types of Python's.

from __future__ import annotations

import triton
import triton.language as tl

from xgr.backends.cuda.beam_step.keys import EMPTY, fold, key_of
from xgr.backends.cuda.catalogue.level import children_of, codes_of, kept, run_of
from xgr.backends.cuda.rows import request_of

# children of a tile: as many as a word has bits
TILE = 32

# what the log-sum-exp is taken over, besides "given" (0): the row, or the node's children
ROW, CHILDREN = 1, 2

_TILE = tl.constexpr(TILE)
_ROW, _CHILDREN = tl.constexpr(ROW), tl.constexpr(CHILDREN)


@triton.jit(do_not_specialize=["level", "nodes_here", "nodes_above", "B", "K", "tiles", "groups"])
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
    low_of,
    count_of,
    tile_max,
    group_max,
    legal,
    part_max,
    part_sum,
    B,
    K,
    tiles,
    groups,
    TRIE: tl.constexpr,
    ROOT: tl.constexpr,
    NORM: tl.constexpr,
    RATIO: tl.constexpr,
    REQUESTS: tl.constexpr,
):
    """Grid (R, splits): program (r, s) takes groups s, s + splits, ... of row r."""
    row, split, splits = tl.program_id(0), tl.program_id(1), tl.num_programs(1)
    request = request_of(row, row_start, B, REQUESTS)
    belongs = request < B
    first = tl.load(row_start + request, mask=belongs, other=0)
    if row - first >= tl.load(live + request, mask=belongs, other=0):
        return
    GROUP: tl.constexpr = RATIO * _TILE
    lanes = tl.arange(0, GROUP)
    logits += row.to(tl.int64) * stride_row
    tile_max += row.to(tl.int64) * tiles
    group_max += row.to(tl.int64) * groups
    low, count = 0, K
    if TRIE:
        parent = tl.load(node + row)
        low, count = children_of(
            parent, descriptor, first_child, nodes_here, nodes_above, level, ROOT
        )
        code = codes_of(descriptor, code, level)
        if split == 0:
            tl.store(low_of + row, low)
            tl.store(count_of + row, count)
    if legal is not None:
        legal += row.to(tl.int64) * tiles
        rule, begin, end = run_of(request, low, count, kind, list_start, listed)
        slot = tl.load(mask + request)

    top = EMPTY
    total = 0.0
    if NORM == _ROW:
        for at in range(split * GROUP, K, splits * GROUP):
            column = at + lanes
            inside = column < K
            x = tl.load(logits + column.to(tl.int64) * stride_code, inside, -float("inf"))
            x = x.to(tl.float32)
            top, total = fold(top, total, x, tl.where(inside, key_of(x), EMPTY))

    for group in range(split, tl.cdiv(count, GROUP), splits):
        entry = group * GROUP + lanes
        inside = entry < count
        column = entry
        if TRIE:
            column = tl.load(code + low + entry, mask=inside, other=0)
        x = tl.load(logits + column.to(tl.int64) * stride_code, inside, -float("inf"))
        x = x.to(tl.float32)
        key = tl.where(inside, key_of(x), EMPTY)
        if NORM == _CHILDREN:
            top, total = fold(top, total, x, key)
        tile = group * RATIO + tl.arange(0, RATIO)
        if legal is not None:
            alive = kept(
                low + entry, inside, rule, begin, end, listed, slot,
                descriptor, words, mask_pitch, level,
            )  # fmt: skip
            key = tl.where(alive, key, EMPTY)
            bits = tl.reshape(alive.to(tl.int32) << (lanes % _TILE), [RATIO, _TILE])
            tl.store(legal + tile, tl.sum(bits, 1))
        best = tl.max(tl.reshape(key, [RATIO, _TILE]), 1)
        tl.store(tile_max + tile, best)
        tl.store(group_max + group, tl.max(best, 0))

    if NORM != 0:
        tl.store(part_max + row * splits + split, top)
        tl.store(part_sum + row * splits + split, total)
