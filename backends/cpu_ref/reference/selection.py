"""Legal children and rank order: the two rules that the beam ops share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from xgr.ops.array import ALLOW, EXCLUDE, Filters, Trie


def children(trie: Trie, level: int, node: int) -> NDArray[np.int64]:
    """Nodes of `level` that continue `node`: the root's at level 0; none if it does not exist."""
    if level == 0:
        return np.arange(len(_host(trie.levels[0].code)))
    first_child = _host(trie.levels[level - 1].first_child)
    if not 0 <= node < len(first_child) - 1:
        return np.arange(0)
    return np.arange(first_child[node], first_child[node + 1])


def codes(trie: Trie, level: int, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Column of each node in the logits of its level."""
    return _host(trie.levels[level].code)[nodes].astype(np.int64)


def kept(
    filters: Filters | None, request: int, level: int, nodes: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Which nodes the filters of a request let live."""
    alive = np.ones(len(nodes), np.bool_)
    if filters is None:
        return alive
    start = _host(filters.start)[level]
    listed = np.isin(nodes, _host(filters.nodes)[level, start[request] : start[request + 1]])
    kind = _host(filters.kind)[request]
    if kind == EXCLUDE:
        alive &= ~listed
    elif kind == ALLOW:
        alive &= listed
    mask = _host(filters.mask)[request]
    if mask >= 0:
        words = _host(filters.words[level])[mask]
        alive &= (words[nodes >> 5] >> (nodes & 31).astype(np.uint32)) & 1 == 1
    return alive


def best(
    score: NDArray[np.float32],
    parent: NDArray[np.int64],
    code: NDArray[np.int64],
    width: int,
    order: str,
) -> NDArray[np.int64]:
    """Indices of the `width` best by rank: score descending, then parent, then code ascending.

    "rank" returns them by rank, "path" the same ones by (parent, code).
    """
    chosen = np.lexsort((code, parent, -score))[: max(width, 0)]
    if order == "path":
        chosen = chosen[np.lexsort((code[chosen], parent[chosen]))]
    return chosen


def _host(array: Any) -> NDArray[Any]:
    return np.asarray(array)
