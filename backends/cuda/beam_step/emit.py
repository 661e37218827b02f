"""Last launch of a beam step: the survivors, by path or by rank, and what dead rows hold."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, misc"
# Kernels are typed by Triton, which has no types of Python's.

from __future__ import annotations

import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_wait

from xgr.backends.cuda.beam_step.keys import EMPTY, value_of
from xgr.backends.cuda.beam_step.open import area
from xgr.backends.cuda.catalogue.level import codes_of

_BEYOND = tl.constexpr(0x7FFFFFFF)


@triton.jit(do_not_specialize=["level", "B", "RO"])
def emit(
    kept,
    kept_keys,
    found,
    joined_rows,
    joined_children,
    low_of,
    descriptor,
    code,
    level,
    row_start,
    row_start_out,
    parent_out,
    code_out,
    node_out,
    score_out,
    live_out,
    B,
    RO,
    TRIE: tl.constexpr,
    RANKED: tl.constexpr,
    SPARE: tl.constexpr,
    REQUESTS: tl.constexpr,
    ROWS: tl.constexpr,
    COMPARED: tl.constexpr,
    CHAINED: tl.constexpr,
):
    """Grid (ceil(RO / ROWS)): `ROWS` output rows."""
    block = tl.program_id(0)
    place = block * ROWS + tl.arange(0, ROWS)
    lanes = tl.arange(0, REQUESTS)
    begins = tl.load(row_start_out + lanes, mask=lanes < B, other=0)
    ends = tl.load(row_start_out + 1 + lanes, mask=lanes < B, other=_BEYOND)
    if CHAINED:
        gdc_wait()
    # loads that do not wait for each other
    counts = tl.load(found + lanes, mask=lanes < B, other=0)
    chosen = tl.load(kept + place, mask=place < RO, other=0)
    key = tl.load(kept_keys + place, mask=place < RO, other=EMPTY)
    # B where the place is nobody's
    request = tl.sum((ends[None, :] <= place[:, None]).to(tl.int32), 1)
    owns = request[:, None] == lanes[None, :]
    target = tl.sum(tl.where(owns, begins[None, :], 0), 1)
    count = tl.sum(tl.where(owns, counts[None, :], 0), 1)
    used = (request < B) & (place >= target) & (place - target < count)
    entry = area(request, target, SPARE) + chosen
    row = tl.load(joined_rows + entry, mask=used, other=0)
    column = tl.load(joined_children + entry, mask=used, other=0)
    node = tl.zeros_like(column)
    if TRIE:
        node = tl.load(low_of + row, mask=used, other=0) + column
        column = tl.load(codes_of(descriptor, code, level) + node, mask=used, other=0)
    to = place
    if RANKED:
        end = target + count
        begin = tl.min(tl.where(used, target, RO), 0)
        to = target
        # each survivor is placed by how many come before it; equal scores: smaller path first
        for at in range(begin, tl.max(end, 0), COMPARED):
            other = at + tl.arange(0, COMPARED)
            theirs = tl.load(kept_keys + other, mask=other < RO, other=EMPTY)
            mine = (other[None, :] >= target[:, None]) & (other[None, :] < end[:, None])
            better = theirs[None, :] > key[:, None]
            equal = (theirs[None, :] == key[:, None]) & (other[None, :] < place[:, None])
            to += tl.sum((mine & (better | equal)).to(tl.int32), 1)
    tl.store(parent_out + to, row, mask=used)
    tl.store(code_out + to, column, mask=used)
    tl.store(score_out + to, value_of(key), mask=used)
    if node_out is not None:
        tl.store(node_out + to, node, mask=used)

    # dead rows are behind the survivors in either order
    dead = (place < RO) & ~used
    owner = tl.load(row_start + request, mask=dead & (request < B), other=0)
    before = tl.load(row_start_out)
    owner = tl.where(place < before, 0, owner)
    none = tl.zeros_like(place)
    tl.store(parent_out + place, owner, mask=dead)
    tl.store(code_out + place, none, mask=dead)
    tl.store(score_out + place, none.to(tl.float32) - float("inf"), mask=dead)
    if node_out is not None:
        tl.store(node_out + place, none - 1, mask=dead)
    if block == 0:
        tl.store(live_out + lanes, counts, mask=lanes < B)
