"""The best of a flat list by threshold and prefix sum, without sorting it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float32]
Index = NDArray[np.int64]

# tiles for each score that is wanted (measured for 500 to 4 million scores of which 8 to 512 are)
TILES = 4
# shorter tiles do not pay: then everything is kept
LEAST_TILE = 4
# equal scores are looked for in blocks, because in flat data the first block holds enough
BLOCK = 1 << 16


def best(score: Scores, width: int) -> Index:
    """Ascending indices of the `width` best scores; of equal ones at the cut, the first.

    Entries of -inf are never chosen. No score is NaN.
    """
    kept = prune(score, width)
    if kept is None:
        return cut(score, width)
    return kept[cut(score[kept], width)]


def prune(score: Scores, width: int, each: int = TILES) -> Index | None:
    """Ascending indices that hold the `width` best and not many more; None to keep all.

    The width-th best of the tiles' maxima is a lower bound of the width-th best score: with some
    times as many tiles as are wanted, a few more than `width` of random scores reach it. A tile
    is every n-th score, because maxima over long contiguous runs are fast.

    Args:
        score: what to choose from.
        width: how many are wanted.
        each: tiles for each of them. More of them leave less to visit, and have more maxima.
    """
    tiles = each * width
    size = len(score) // tiles if width > 0 else 0
    if size < LEAST_TILE:
        return None
    maxima = score[: tiles * size].reshape(size, tiles).max(axis=0)
    bound = np.partition(maxima, tiles - width)[tiles - width]
    return _above_and_first(score, bound, width)


def cut(score: Scores, width: int) -> Index:
    """As `best`, by one threshold and a prefix sum."""
    if width <= 0:
        return np.empty(0, np.int64)
    if len(score) > width:
        least = np.partition(score, len(score) - width)[len(score) - width]
    else:
        least = np.float32(-np.inf)
    return _above_and_first(score, least, width)


def by_rank(score: Scores) -> Index:
    """Indices that sort path-ordered scores by rank: descending, ties in path order."""
    return np.argsort(-score, kind="stable")


def _above_and_first(score: Scores, bound: np.float32, width: int) -> Index:
    """Ascending indices of what is above a bound, and of the first that equal it up to `width`."""
    above = np.flatnonzero(score > bound)
    missing = width - len(above)
    if missing <= 0 or bound == -np.inf:
        return above
    if len(score) <= BLOCK:
        reach = np.flatnonzero(score >= bound)
        if len(reach) == width:  # no ties at the cut
            return reach
    ties: list[Index] = []
    for begin in range(0, len(score), BLOCK):
        found = np.flatnonzero(score[begin : begin + BLOCK] == bound)[:missing]
        ties.append(found + begin)
        missing -= len(found)
        if not missing:
            break
    chosen = np.concatenate((above, *ties))
    chosen.sort()
    return chosen
