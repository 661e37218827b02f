"""Vectorised binary search over arrays that are too large to copy or to cast."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def lower_bound(
    value_at: Callable[[Int64s], npt.NDArray[Any]],
    low: Int64s,
    high: Int64s,
    want: npt.NDArray[Any],
) -> Int64s:
    """First index in `low[i]..high[i]-1` whose value is not below `want[i]`, else `high[i]`.

    np.searchsorted would serve one range only, and would cast a whole memory-mapped array (or its
    sorter) when the types differ; this touches O(log n) elements a query.

    Args:
        value_at: values at an array of indices; ascending within every range.
        low: int64 [n], first index of each range; not changed.
        high: int64 [n], end of each range.
        want: [n], of a type that compares with the values exactly.
    """
    low, high = low.copy(), high.copy()
    longest = int((high - low).max(initial=0))
    for _ in range(longest.bit_length()):
        pending = np.flatnonzero(low < high)
        middle = (low[pending] + high[pending]) >> 1
        below = value_at(middle) < want[pending]
        low[pending[below]] = middle[below] + 1
        high[pending[~below]] = middle[~below]
    return low


def contains(ordered: Int64s, values: Int64s) -> Bools:
    """Which of `values` occur in the ascending array `ordered`."""
    if not len(ordered):
        return np.zeros(len(values), dtype=np.bool_)
    at = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    return np.asarray(ordered[at] == values)
