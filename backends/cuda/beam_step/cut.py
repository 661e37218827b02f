"""The exact cut of a list of keys in memory by one block: its best so many, in list order.

`CHUNK` keys stay in registers; what is beyond them is read again for each count.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, misc"
# Kernels are typed by Triton, which has no types of Python's.

from __future__ import annotations

import triton
import triton.language as tl

from xgr.backends.cuda.beam_step.keys import EMPTY, NAN


@triton.jit
def best_of(keys, n, want, slack, CHUNK: tl.constexpr):
    """What the best `want` of keys[:n] are, or a few more: up to `slack` end the search sooner.

    Returns:
        (threshold, ties, count, greatest): all keys above the threshold and the first `ties` at it,
        `count` in all, fewer than `want` where there are fewer; EMPTY is never among them. And the
        greatest key.
    """
    lanes = tl.arange(0, CHUNK)
    chunk = tl.load(keys + lanes, mask=lanes < n, other=EMPTY)
    high = tl.max(chunk, 0)
    low = tl.min(tl.where(chunk == EMPTY, NAN, chunk), 0)
    for at in range(CHUNK, n, CHUNK):
        more = tl.load(keys + at + lanes, mask=at + lanes < n, other=EMPTY)
        high = tl.maximum(high, tl.max(more, 0))
        low = tl.minimum(low, tl.min(tl.where(more == EMPTY, NAN, more), 0))
    greatest = high
    legal = _above(keys, chunk, n, EMPTY, CHUNK)
    enough = want + slack
    everything = legal <= enough
    high = tl.where(everything, EMPTY, high)
    # none is above `high`, and more than enough are above `low`
    above = tl.where(everything, legal, 0)
    low = tl.where(everything, NAN, low - 1)
    # first just below the greatest: that ends it where the best are all equal
    middle = high - 1
    while (above < want) & (low < high - 1):
        count = _above(keys, chunk, n, middle, CHUNK)
        fits = count <= enough
        high = tl.where(fits, middle, high)
        above = tl.where(fits, count, above)
        low = tl.where(fits, low, middle)
        middle = (low & high) + ((low ^ high) >> 1)
    short = ~everything & (above < want)
    return high, tl.where(short, want - above, 0), tl.where(short, want, above), greatest


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
        total = tl.sum(both, 0)
        above_before += total & 0xFFFF
        ties_before += total >> 16


@triton.jit
def _above(keys, chunk, n, threshold, CHUNK: tl.constexpr):
    lanes = tl.arange(0, CHUNK)
    count = tl.sum((chunk > threshold).to(tl.int32), 0)
    for at in range(CHUNK, n, CHUNK):
        more = tl.load(keys + at + lanes, mask=at + lanes < n, other=EMPTY)
        count += tl.sum((more > threshold).to(tl.int32), 0)
    return count
