"""Relative position buckets of T5 (Raffel et al. 2020)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray


@np.errstate(divide="ignore")
def relative_buckets(
    relative: NDArray[Any], buckets: int, max_distance: int, bidirectional: bool
) -> NDArray[np.int64]:
    """The bucket of each relative position, key position minus query position.

    Near distances have a bucket each, far ones share logarithmic buckets up to max_distance.
    With `bidirectional` the upper half of the buckets is for keys after the query; else those
    keys share bucket 0 with distance 0.
    """
    first = np.zeros(relative.shape, np.int64)
    if bidirectional:
        buckets //= 2
        first[relative > 0] = buckets
        distance = np.abs(relative)
    else:
        distance = np.maximum(-relative, 0)
    exact = buckets // 2
    # float32, as the checkpoints were trained: float64 moves some borders by one
    ratio = np.log(distance.astype(np.float32) / exact) / np.float32(math.log(max_distance / exact))
    far = exact + np.maximum(ratio * (buckets - exact), 0).astype(np.int64)
    first += np.where(distance < exact, distance, np.minimum(far, buckets - 1))
    return first
