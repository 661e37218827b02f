"""The best of a flat list by threshold and prefix sum, without sorting it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float32]
Index = NDArray[np.int64]

# a legal score is never below this: -inf means illegal and only that
LEAST = np.float32(-1e30)
TILE = 64


def best(score: Scores, width: int) -> Index:
    """Ascending indices of the `width` best scores; of equal ones at the cut, the first.

    Entries of -inf are never chosen. No score is NaN.
    """
    if width <= 0:
        return np.empty(0, np.int64)
    pruned = _prune(score, width)
    values = score if pruned is None else score[pruned]
    if len(values) > width:
        cut = np.partition(values, len(values) - width)[len(values) - width]
    else:
        cut = np.float32(-np.inf)
    chosen = np.flatnonzero(values > cut)
    if len(chosen) < width and cut != -np.inf:
        ties = np.flatnonzero(values == cut)[: width - len(chosen)]
        chosen = np.concatenate((chosen, ties))
        chosen.sort()
    return chosen if pruned is None else pruned[chosen]


def _prune(score: Scores, width: int) -> Index | None:
    # the width-th best of tile maxima is a lower bound of the width-th best score
    tiles = len(score) // TILE
    if tiles <= 2 * width:
        return None
    maxima = score[: tiles * TILE].reshape(tiles, TILE).max(axis=1)
    bound = np.partition(maxima, tiles - width)[tiles - width]
    return np.flatnonzero(score >= bound)


def by_rank(score: Scores) -> Index:
    """Indices that sort path-ordered scores by rank: descending, ties in path order."""
    return np.argsort(-score, kind="stable")
