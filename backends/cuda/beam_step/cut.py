"""The exact cut of a list of keys in memory by one block: its best so many, in list order.

`CHUNK` keys stay in registers; what is beyond them is read again for each count.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, misc"
# Kernels are typed by Triton, which has no types of Python's.

from __future__ import annotations

import triton
import triton.language as tl

from xgr.backends.cuda.beam_step.keys import EMPTY, NAN

# bits of a count, three of which a word holds
_BITS, _COUNT = tl.constexpr(21), tl.constexpr((1 << 21) - 1)


@triton.jit
def best_of(keys, n, want, slack, least, CHUNK: tl.constexpr):
    """What the best `want` of keys[:n] are, or a few more: up to `slack` end the search sooner.

    Three thresholds are counted at a time, which quarters the range that the right one lies in.
    `least` is what no key is below, or None where some may be EMPTY.

    Returns:
        (threshold, ties, count, greatest): all keys above the threshold and the first `ties` at it,
        `count` in all, fewer than `want` where there are fewer; EMPTY is never among them. And the
        greatest key.
    """
    lanes = tl.arange(0, CHUNK)
    chunk = tl.load(keys + lanes, mask=lanes < n, other=EMPTY)
    greatest = tl.max(chunk, 0)
    for at in range(CHUNK, n, CHUNK):
        more = tl.load(keys + at + lanes, mask=at + lanes < n, other=EMPTY)
        greatest = tl.maximum(greatest, tl.max(more, 0))
    legal = n
    if least is None:
        legal = (_above(keys, chunk, n, EMPTY, EMPTY, EMPTY, CHUNK) & _COUNT).to(tl.int32)
        least = tl.min(tl.where(chunk == EMPTY, NAN, chunk), 0)
        for at in range(CHUNK, n, CHUNK):
            more = tl.load(keys + at + lanes, mask=at + lanes < n, other=EMPTY)
            least = tl.minimum(least, tl.min(tl.where(more == EMPTY, NAN, more), 0))
    enough = want + slack
    everything = legal <= enough
    # none is above `high`, and more than enough are above `low`; a range may exceed 32 bits
    high = tl.where(everything, EMPTY, greatest).to(tl.int64)
    low = least.to(tl.int64) - 1
    above = tl.where(everything, legal, 0)
    while ~everything & (above < want) & (low < high - 1):
        width = high - low
        first = low + (width >> 2)
        second = low + (width >> 1)
        third = low + ((3 * width) >> 2)
        counts = _above(
            keys, chunk, n, first.to(tl.int32), second.to(tl.int32), third.to(tl.int32), CHUNK
        )
        above_first = (counts & _COUNT).to(tl.int32)
        above_second = ((counts >> _BITS) & _COUNT).to(tl.int32)
        above_third = (counts >> (2 * _BITS)).to(tl.int32)
        if above_first <= enough:
            high, above = first, above_first
        elif above_second <= enough:
            low, high, above = first, second, above_second
        elif above_third <= enough:
            low, high, above = second, third, above_third
        else:
            low = third
    short = ~everything & (above < want)
    ties = tl.where(short, want - above, 0)
    return high.to(tl.int32), ties, above + ties, greatest


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
def _above(keys, chunk, n, first, second, third, CHUNK: tl.constexpr):
    """How many keys are above each of three thresholds, in one word."""
    lanes = tl.arange(0, CHUNK)
    counts = tl.sum(_counted(chunk, first, second, third), 0)
    for at in range(CHUNK, n, CHUNK):
        more = tl.load(keys + at + lanes, mask=at + lanes < n, other=EMPTY)
        counts += tl.sum(_counted(more, first, second, third), 0)
    return counts


@triton.jit
def _counted(key, first, second, third):
    low = (key > first).to(tl.int64) + ((key > second).to(tl.int64) << _BITS)
    return low + ((key > third).to(tl.int64) << (2 * _BITS))
