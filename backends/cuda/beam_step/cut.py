"""The exact cut among the keys of a request: its best so many, equal ones in list order.

One block cuts one list in memory. `CHUNK` keys stay in registers; what is beyond them is read
again for each count.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, misc"
# Kernels are typed by Triton, which has no types of Python's.

from __future__ import annotations

import triton
import triton.language as tl

from xgr.backends.cuda.beam_step.keys import EMPTY, NAN, POSITIVE_INFINITY, closed, score_key
from xgr.backends.cuda.beam_step.scan import TILE
from xgr.ops.beam_step import NAN_LOGIT

_TILE = tl.constexpr(TILE)
_NAN_LOGIT = tl.constexpr(NAN_LOGIT)
# rows whose parts of the log-sum-exp are joined at once
_ROWS = tl.constexpr(64)


@triton.jit(do_not_specialize=["K", "groups"])
def cut_groups(
    group_max,
    kept,
    found,
    row_start,
    live,
    row_start_out,
    out_width,
    cumulative,
    norm,
    part_max,
    part_sum,
    count_of,
    status,
    K,
    groups,
    TRIE: tl.constexpr,
    NORM: tl.constexpr,
    SPLITS: tl.constexpr,
    STRICT: tl.constexpr,
    RATIO: tl.constexpr,
    CHUNK: tl.constexpr,
    STEP: tl.constexpr,
):
    """Grid (B): the best groups of each request; their maxima become scores where they lie.

    A NaN or +inf among the candidates of a request leaves none.
    """
    request = tl.program_id(0)
    lanes = tl.arange(0, STEP)
    first, rows = tl.load(row_start + request), tl.load(live + request)
    if NORM != 0:
        _join(norm, part_max, part_sum, first, first + rows, SPLITS)
        tl.debug_barrier()
    group_max += first.to(tl.int64) * groups
    n = rows * groups
    most = EMPTY
    for at in range(0, n, STEP):
        entry = at + lanes
        inside = entry < n
        row = first + entry // groups
        count = K
        if TRIE:
            count = tl.load(count_of + row, mask=inside, other=0)
        # groups behind a row's last child were not written
        written = inside & ((entry % groups) * (RATIO * _TILE) < count)
        best = tl.load(group_max + entry, mask=written, other=EMPTY)
        base = tl.load(cumulative + row, mask=written, other=0.0)
        lse = 0.0
        if norm is not None:
            lse = tl.load(norm + row, mask=written, other=0.0)
        key = score_key(best, base, lse, STRICT)
        most = tl.maximum(most, tl.max(key, 0))
        tl.store(group_max + entry, key, mask=inside)
    tl.debug_barrier()
    target, want = _room(request, row_start_out, out_width)
    if most >= POSITIVE_INFINITY:
        n = 0
        if status is not None:
            tl.store(status + request, tl.load(status + request) | _NAN_LOGIT)
    _keep(group_max, n, want, kept + target, None, found + request, CHUNK, STEP)


@triton.jit
def cut_kept(
    keys,
    found_before,
    kept,
    kept_keys,
    found,
    row_start_out,
    out_width,
    WIDTH: tl.constexpr,
    CHUNK: tl.constexpr,
    STEP: tl.constexpr,
):
    """Grid (B): the best of the `WIDTH` keys of each thing that was kept before."""
    request = tl.program_id(0)
    target, want = _room(request, row_start_out, out_width)
    n = tl.load(found_before + request) * WIDTH
    keys += target.to(tl.int64) * WIDTH
    if kept_keys is not None:
        kept_keys += target
    _keep(keys, n, want, kept + target, kept_keys, found + request, CHUNK, STEP)


@triton.jit
def _join(norm, part_max, part_sum, begin, end, SPLITS: tl.constexpr):
    """Log-sum-exp of rows begin .. end - 1 from the parts of their splits."""
    for at in range(begin, end, _ROWS):
        row = at + tl.arange(0, _ROWS)
        part = row[:, None] * SPLITS + tl.arange(0, SPLITS)[None, :]
        top = tl.load(part_max + part, mask=row[:, None] < end, other=EMPTY)
        total = tl.load(part_sum + part, mask=row[:, None] < end, other=0.0)
        tl.store(norm + row, closed(top, total), mask=row < end)


@triton.jit
def _room(request, row_start_out, out_width):
    """First output row of a request, and how many survivors it takes."""
    target = tl.load(row_start_out + request)
    room = tl.load(row_start_out + request + 1) - target
    return target, tl.maximum(tl.minimum(tl.load(out_width + request), room), 0)


@triton.jit
def _keep(keys, n, want, kept, kept_keys, found, CHUNK: tl.constexpr, STEP: tl.constexpr):
    """Write places (and keys) of the best `want` of keys[:n] in list order, and their number."""
    threshold, ties, count = _threshold(keys, n, want, CHUNK)
    lanes = tl.arange(0, STEP)
    above_before, ties_before = 0, 0
    for at in range(0, n, STEP):
        entry = at + lanes
        key = tl.load(keys + entry, mask=entry < n, other=EMPTY)
        is_above = key > threshold
        is_tie = (key == threshold) & (key != EMPTY)
        # both counts in one scan: there are fewer than 2^15 keys
        both = is_above.to(tl.int32) + (is_tie.to(tl.int32) << 16)
        scan = tl.cumsum(both, 0) - both
        tie = ties_before + (scan >> 16)
        taken = is_above | (is_tie & (tie < ties))
        place = above_before + (scan & 0xFFFF) + tl.minimum(tie, ties)
        tl.store(kept + place, entry, mask=taken)
        if kept_keys is not None:
            tl.store(kept_keys + place, key, mask=taken)
        total = tl.sum(both, 0)
        above_before += total & 0xFFFF
        ties_before += total >> 16
    tl.store(found, count)


@triton.jit
def _threshold(keys, n, want, CHUNK: tl.constexpr):
    """What the best `want` of keys[:n] are: all above the threshold and `ties` of those at it.

    Returns:
        (threshold, ties, count), with the number that there are of them in all.
    """
    lanes = tl.arange(0, CHUNK)
    chunk = tl.load(keys + lanes, mask=lanes < n, other=EMPTY)
    high = tl.max(chunk, 0)
    low = tl.min(tl.where(chunk == EMPTY, NAN, chunk), 0)
    for at in range(CHUNK, n, CHUNK):
        more = tl.load(keys + at + lanes, mask=at + lanes < n, other=EMPTY)
        high = tl.maximum(high, tl.max(more, 0))
        low = tl.minimum(low, tl.min(tl.where(more == EMPTY, NAN, more), 0))
    legal = _above(keys, chunk, n, EMPTY, CHUNK)
    # bisection of the keys: more than `want` are above `low`, `above` <= `want` above `high`
    low -= 1
    everything = legal <= want
    high = tl.where(everything, EMPTY, high)
    above = tl.where(everything, want, 0)
    while (above != want) & (low < high - 1):
        middle = (low & high) + ((low ^ high) >> 1)
        count = _above(keys, chunk, n, middle, CHUNK)
        fits = count <= want
        high = tl.where(fits, middle, high)
        above = tl.where(fits, count, above)
        low = tl.where(fits, low, middle)
    return high, want - above, tl.minimum(legal, want)


@triton.jit
def _above(keys, chunk, n, threshold, CHUNK: tl.constexpr):
    lanes = tl.arange(0, CHUNK)
    count = tl.sum((chunk > threshold).to(tl.int32), 0)
    for at in range(CHUNK, n, CHUNK):
        more = tl.load(keys + at + lanes, mask=at + lanes < n, other=EMPTY)
        count += tl.sum((more > threshold).to(tl.int32), 0)
    return count
