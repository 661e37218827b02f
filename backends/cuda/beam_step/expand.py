"""Between the cuts: the tiles of the groups that were kept, the candidates of the tiles.

Grid (ceil(RO / ROWS)): the i-th thing that a request keeps has the place of its i-th output row,
and what it expands to lies in a row of `keys`.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, misc"
# Kernels are typed by Triton, which has no types of Python's.

from __future__ import annotations

import triton
import triton.language as tl

from xgr.backends.cuda.beam_step.keys import EMPTY, clamped, key_of, score_key, score_of
from xgr.backends.cuda.beam_step.scan import TILE
from xgr.backends.cuda.catalogue.level import codes_of

_TILE = tl.constexpr(TILE)


@triton.jit(do_not_specialize=["B", "tiles", "groups"])
def expand_groups(
    groups_kept,
    found,
    tile_max,
    keys,
    row_start,
    row_start_out,
    cumulative,
    norm,
    B,
    tiles,
    groups,
    STRICT: tl.constexpr,
    RATIO: tl.constexpr,
    REQUESTS: tl.constexpr,
    ROWS: tl.constexpr,
):
    """Scores of the tiles' maxima, [RO, RATIO] keys."""
    place = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    request, used = owner_of(place, row_start_out, found, B, REQUESTS)
    row, group = _group(place, request, used, groups_kept, row_start, groups)
    tile = group[:, None] * RATIO + tl.arange(0, RATIO)[None, :]
    at = row.to(tl.int64)[:, None] * tiles + tile
    best = tl.load(tile_max + at, mask=used[:, None], other=EMPTY)
    base = tl.load(cumulative + row, mask=used, other=0.0)
    lse = tl.zeros_like(base)
    if norm is not None:
        lse = tl.load(norm + row, mask=used, other=0.0)
    key = score_key(best, base[:, None], lse[:, None], STRICT)
    slot = place.to(tl.int64)[:, None] * RATIO + tl.arange(0, RATIO)[None, :]
    tl.store(keys + slot, key, mask=used[:, None])


@triton.jit(do_not_specialize=["level", "B", "K", "tiles", "groups"])
def expand_tiles(
    groups_kept,
    tiles_kept,
    found,
    tile_row,
    tile_start,
    keys,
    logits,
    stride_row,
    stride_code,
    descriptor,
    code,
    level,
    low_of,
    count_of,
    legal,
    row_start,
    row_start_out,
    cumulative,
    norm,
    B,
    K,
    tiles,
    groups,
    TRIE: tl.constexpr,
    STRICT: tl.constexpr,
    RATIO: tl.constexpr,
    REQUESTS: tl.constexpr,
    ROWS: tl.constexpr,
):
    """Scores of the candidates, [RO, 32] keys; row and first candidate of each tile."""
    place = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    lanes = tl.arange(0, _TILE)[None, :]
    request, used = owner_of(place, row_start_out, found, B, REQUESTS)
    target = tl.load(row_start_out + request, mask=used, other=0)
    slot = tl.load(tiles_kept + place, mask=used, other=0)
    row, group = _group(target + slot // RATIO, request, used, groups_kept, row_start, groups)
    tile = group * RATIO + slot % RATIO
    tl.store(tile_row + place, row, mask=used)
    tl.store(tile_start + place, tile * _TILE, mask=used)

    column = tile[:, None] * _TILE + lanes
    if TRIE:
        count = tl.load(count_of + row, mask=used, other=0)
        low = tl.load(low_of + row, mask=used, other=0)
        inside = used[:, None] & (column < count[:, None])
        code = codes_of(descriptor, code, level)
        column = tl.load(code + low[:, None] + column, mask=inside, other=0)
    else:
        inside = used[:, None] & (column < K)
    if legal is not None:
        word = tl.load(legal + row.to(tl.int64) * tiles + tile, mask=used, other=0)
        inside &= ((word[:, None] >> lanes) & 1) == 1
    at = row.to(tl.int64)[:, None] * stride_row + column.to(tl.int64) * stride_code
    logit = tl.load(logits + at, mask=inside, other=-float("inf")).to(tl.float32)
    base = tl.load(cumulative + row, mask=used, other=0.0)
    lse = tl.zeros_like(base)
    if norm is not None:
        lse = tl.load(norm + row, mask=used, other=0.0)
    score = score_of(logit, base[:, None], lse[:, None])
    if STRICT:
        inside &= score != -float("inf")
    key = tl.where(inside, key_of(clamped(score)), EMPTY)
    tl.store(keys + place.to(tl.int64)[:, None] * _TILE + lanes, key, mask=used[:, None])


@triton.jit
def owner_of(place, row_start_out, found, B, REQUESTS: tl.constexpr):
    """The request of each output row (B: nobody), and whether it keeps something there."""
    lanes = tl.arange(0, REQUESTS)
    ends = tl.load(row_start_out + 1 + lanes, mask=lanes < B, other=0x7FFFFFFF)
    request = tl.sum((ends[None, :] <= place[:, None]).to(tl.int32), 1)
    belongs = request < B
    target = tl.load(row_start_out + request, mask=belongs, other=0)
    count = tl.load(found + request, mask=belongs, other=0)
    return request, belongs & (place >= target) & (place - target < count)


@triton.jit
def _group(place, request, used, groups_kept, row_start, groups):
    """Row and group in the row of the groups kept at some places."""
    entry = tl.load(groups_kept + place, mask=used, other=0)
    first = tl.load(row_start + request, mask=used, other=0)
    return first + entry // groups, entry % groups
