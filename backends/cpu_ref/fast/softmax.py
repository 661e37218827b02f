"""The softmax of the attention kernels, and of linear_lse."""

from __future__ import annotations

from functools import cache

import numpy as np

from xgr.backends.cpu_ref.arrays import Floats

# within these bounds exp neither overflows nor loses digits, and no maximum must be found per row
SAFE = 60.0


def exponentials(scores: Floats, diagonal: Floats | None = None) -> tuple[Floats, Floats]:
    """Scores [..., L] become exp(score - shift), in place.

    Args:
        scores: contiguous.
        diagonal: view [..., n, m, n] of the last n keys of n queries in m heads, of which query i
            sees the first i + 1.

    Returns:
        The shift of each row and the sum of its exponentials, both [..., 1].
    """
    ones = _ones(scores.shape[-1].bit_length())[: scores.shape[-1]]
    if scores.size and scores.min() > -SAFE and scores.max() < SAFE:
        np.exp(scores, out=scores)
        if diagonal is not None:
            diagonal *= _seen(diagonal.shape[-1])
        total = np.matmul(scores, ones)
        return np.zeros_like(total), total
    if diagonal is not None:
        np.copyto(diagonal, -np.inf, where=_seen(diagonal.shape[-1]) == 0)
    greatest = scores.max(axis=-1, keepdims=True)
    scores -= greatest
    np.exp(scores, out=scores)
    return greatest, np.matmul(scores, ones)


@cache
def _ones(bits: int) -> Floats:
    return np.ones((1 << bits, 1), np.float32)


@cache
def _seen(queries: int) -> Floats:
    """[n, 1, n]: 1 where query i sees key j."""
    return np.tri(queries, dtype=np.float32)[:, None]
