"""The softmax of the attention kernels."""

from __future__ import annotations

from functools import cache

import numpy as np

from xgr.backends.cpu_ref.scratch import Floats


@cache
def _ones(length: int) -> Floats:
    return np.ones((length, 1), np.float32)


def exponentials(scores: Floats) -> tuple[Floats, Floats]:
    """Scores [..., L] become exp(score - greatest), in place.

    Returns:
        The greatest score and the sum of the exponentials, both [..., 1].
    """
    greatest = scores.max(axis=-1, keepdims=True)
    scores -= greatest
    np.exp(scores, out=scores)
    return greatest, np.matmul(scores, _ones(scores.shape[-1]))
