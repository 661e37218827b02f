"""The exact cut of a list of keys in memory by one block: its best so many, in list order.

`CHUNK` keys stay in registers; what is beyond them is read again for each count.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, misc"
# Kernels are typed by Triton, which has no types of Python's.

from __future__ import annotations

import triton
import triton.language as tl

from xgr.backends.cuda.beam_step.keys import EMPTY, NAN

# parts that a step divides a range of keys into: a warp scans their counts
_BINS, _BIN_LOG = tl.constexpr(32), tl.constexpr(5)


@triton.jit
def best_of(keys, n, want, slack, bounds, CHUNK: tl.constexpr):
    """What the best `want` of keys[:n] are, or a few more: up to `slack` end the search sooner.

    A step counts the keys of 32 parts of the range that the threshold lies in, which leaves one.
    `bounds` are what no key is below and none above, or None where some may be EMPTY.

    Returns:
        (threshold, ties, count, greatest): all keys above the threshold and the first `ties` at it,
        `count` in all, fewer than `want` where there are fewer; EMPTY is never among them. And what
        no key is above.
    """
    lanes = tl.arange(0, CHUNK)
    chunk = tl.load(keys + lanes, mask=lanes < n, other=EMPTY)
    enough = want + slack
    above = 0
    if bounds is None:
        low, greatest = _bounds_of(keys, chunk, n, CHUNK)
        everything = greatest == EMPTY
    else:
        low, greatest = bounds
        everything = n <= enough
        above = tl.where(everything, n, above)
    # `above` keys are above `high`, no more than enough, and more than that at or above `low`:
    # this is not known of the range of all keys
    high = greatest
    searching = ~everything & (want > 0)
    while searching:
        # differences may exceed 31 bits
        width = (high - low).to(tl.uint32, bitcast=True)
        shift = _shift_of(width)
        counts = _counted(chunk, low, high, shift)
        for at in range(CHUNK, n, CHUNK):
            more = tl.load(keys + at + lanes, mask=at + lanes < n, other=EMPTY)
            counts += _counted(more, low, high, shift)
        through = above + tl.sum(counts, 0)
        everything = through <= enough
        beyond = through - tl.cumsum(counts, 0)
        part = tl.sum((beyond > enough).to(tl.int32), 0)
        above = tl.max(tl.where(beyond > enough, 0, beyond), 0)
        above = tl.where(everything, through, above)
        first = part.to(tl.uint32) << shift
        last = tl.minimum(((part + 1).to(tl.uint32) << shift) - 1, width)
        high = low + last.to(tl.int32, bitcast=True)
        low += first.to(tl.int32, bitcast=True)
        searching = ~everything & (above < want) & (low < high)
    short = ~everything & (above < want)
    ties = tl.where(short, want - above, 0)
    return tl.where(everything, EMPTY, high), ties, above + ties, greatest


@triton.jit
def _bounds_of(keys, chunk, n, CHUNK: tl.constexpr):
    """The least and the greatest key that are not EMPTY."""
    lanes = tl.arange(0, CHUNK)
    least = tl.min(tl.where(chunk == EMPTY, NAN, chunk), 0)
    greatest = tl.max(chunk, 0)
    for at in range(CHUNK, n, CHUNK):
        more = tl.load(keys + at + lanes, mask=at + lanes < n, other=EMPTY)
        least = tl.minimum(least, tl.min(tl.where(more == EMPTY, NAN, more), 0))
        greatest = tl.maximum(greatest, tl.max(more, 0))
    return least, greatest


@triton.jit
def keep(keys, n, threshold, ties, kept, kept_keys, STEP: tl.constexpr):
    """Write places (and keys) of those that `best_of` found, in list order."""
    lanes = tl.arange(0, STEP)
    above_before, ties_before = 0, 0
    for at in range(0, n, STEP):
        entry = at + lanes
        key = tl.load(keys + entry, mask=entry < n, other=EMPTY)
        is_above = key > threshold
        is_tie = (key == threshold) & (key != EMPTY)
        # both counts in one scan: a step has fewer than 2^15 keys
        both = is_above.to(tl.int32) + (is_tie.to(tl.int32) << 16)
        scan = tl.cumsum(both, 0) - both
        tie = ties_before + (scan >> 16)
        taken = is_above | (is_tie & (tie < ties))
        place = above_before + (scan & 0xFFFF) + tl.minimum(tie, ties)
        tl.store(kept + place, entry, mask=taken)
        if kept_keys is not None:
            tl.store(kept_keys + place, key, mask=taken)
        if at + STEP < n:
            total = tl.sum(both, 0)
            above_before += total & 0xFFFF
            ties_before += total >> 16


@triton.jit
def _counted(key, low, high, shift):
    """How many keys are in each part of low .. high, parts of 2^shift."""
    part = (key - low).to(tl.uint32, bitcast=True) >> shift
    return tl.histogram(part.to(tl.int32, bitcast=True), _BINS, (key >= low) & (key <= high))


@triton.jit
def _shift_of(width):
    """The least shift, or one more, that leaves a number below the number of parts."""
    # a float32 may round up to the next power of two
    bits = (width.to(tl.float32).to(tl.int32, bitcast=True) >> 23) - 126
    return tl.maximum(bits - _BIN_LOG, 0).to(tl.uint32)
