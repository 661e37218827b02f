"""Log-sum-exp in float32, of whole rows and of runs of a flat list; 0 where nothing is finite."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from xgr.backends.cpu_ref.rows import block_rows

Tensor = NDArray[Any]
Floats = NDArray[np.float32]

# elements of a block of rows that stays in the cache between its three passes
BLOCK = 1 << 18


def row_lse(logits: Tensor) -> Floats:
    """Of each row of [n, K] logits of any float type."""
    rows, columns = logits.shape
    norm = np.empty(rows, np.float32)
    step = block_rows(columns, BLOCK)
    power = np.empty((min(step, rows), columns), np.float32)
    for first in range(0, rows, step):
        part = logits[first : first + step]
        block = power[: len(part)]
        block[...] = part
        largest = _finite(block.max(axis=1, initial=-np.inf))
        block -= largest[:, None]
        np.exp(block, out=block)
        norm[first : first + step] = _close(block.sum(axis=1), largest)
    return norm


def segment_lse(logit: Floats, start: Tensor, count: Tensor) -> Floats:
    """Of each run logit[start[i] : start[i] + count[i]] of consecutive runs."""
    norm = np.zeros(len(count), np.float32)
    some = np.flatnonzero(count)
    if len(some):
        first = start[some]
        largest = _finite(np.maximum.reduceat(logit, first))
        power = logit - np.repeat(largest, count[some])
        np.exp(power, out=power)
        norm[some] = _close(np.add.reduceat(power, first), largest)
    return norm


def _finite(largest: Floats) -> Floats:
    # exp(-inf - -inf) would be NaN; +inf and NaN pass, and make their request fail
    return np.where(largest == -np.inf, np.float32(0), largest)


def _close(total: Floats, largest: Floats) -> Floats:
    # a total is 0 where every logit is -inf, and NaN where the largest is +inf or NaN
    norm = np.log(total, out=np.zeros_like(total), where=total != 0)
    norm += largest
    return np.where(largest == np.inf, largest, norm)
