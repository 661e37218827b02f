"""Relative position buckets of T5 (Raffel et al. 2020) as a table."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray


def bucket_table(count: int, buckets: int, max_distance: int) -> NDArray[Any]:
    """The bucket, int32, of each distance 0 .. `count` - 1 to a key that is not later.

    Half of the buckets are for one distance each, the others grow by a constant factor up to
    max_distance. Kernels read a table because the borders are those of float32 logarithms, as the
    checkpoints were trained, which the device's are not to the last bit.
    """
    distance, exact = np.arange(count), buckets // 2
    ratio = np.log(np.maximum(distance, 1).astype(np.float32) / exact)
    ratio /= np.float32(math.log(max_distance / exact))
    far = exact + np.maximum(ratio * (buckets - exact), 0).astype(np.int64)
    near = np.where(distance < exact, distance, np.minimum(far, buckets - 1))
    return near.astype(np.int32)
