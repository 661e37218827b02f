# Triton's language has no types:
# mypy: disable-error-code="no-untyped-def,untyped-decorator"
"""Device functions over the row layout of a batch."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def request_of(row, start, requests, BLOCK_B: tl.constexpr):
    """The request that owns a row: how many of start[1:] are at or before it; `requests` if none.

    start int32 [requests + 1], BLOCK_B >= requests.
    """
    at = tl.arange(0, BLOCK_B)
    ends = tl.load(start + 1 + at, mask=at < requests, other=2147483647)
    return tl.sum((ends <= row).to(tl.int32), axis=0)


@triton.jit
def of_request(values, b, BLOCK_B: tl.constexpr):
    """values[b] of int32 [BLOCK_B] in registers; a load would wait for the memory once more."""
    return tl.sum(tl.where(tl.arange(0, BLOCK_B) == b, values, 0), axis=0)


@triton.jit
def parents_are_sound(parent, first, end, live, BLOCK_R: tl.constexpr):
    """Whether the parents of rows first .. first + live - 1 ascend within first .. end - 1."""
    bad = tl.zeros([BLOCK_R], tl.int32)
    for at in range(0, live, BLOCK_R):
        row = at + tl.arange(0, BLOCK_R)
        inside = row < live
        mine = tl.load(parent + first + row, mask=inside, other=0)
        before = tl.load(parent + first + row - 1, mask=inside & (row > 0), other=-2147483648)
        wrong = (mine < first) | (mine >= end) | (mine < before)
        bad |= (inside & wrong).to(tl.int32)
    return tl.max(bad, axis=0) == 0
