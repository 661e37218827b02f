"""The children of many rows as one flat list in (row, code) order, and what filters leave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xgr.ops.array import ALLOW, EXCLUDE, Filters, Trie

Tensor = NDArray[Any]
Index = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Children:
    """Children of consecutive rows.

    Attributes:
        low: int64 [n], first child of each row.
        count: int64 [n], children of each row.
        start: int64 [n + 1], row i's children are entries start[i] up to start[i + 1] - 1.
        node: int64 [N], the children.
        code: int32 [N], their columns in the logits of the level.
    """

    low: Index
    count: Index
    start: Index
    node: Index
    code: Tensor

    def owner(self, entries: Index) -> Index:
        """Row of each entry."""
        return np.searchsorted(self.start, entries, side="right") - 1


def gather(trie: Trie, level: int, node: Tensor) -> Children:
    """Children at `level` of the nodes of some rows; the root's at level 0."""
    low, count = _child_range(trie, level, node)
    start = np.zeros(len(node) + 1, np.int64)
    np.cumsum(count, out=start[1:])
    child = np.arange(start[-1])
    child += np.repeat(low - start[:-1], count)
    code = _host(trie.levels[level].code).take(child)
    return Children(low, count, start, child, code)


def _child_range(trie: Trie, level: int, node: Tensor) -> tuple[Index, Index]:
    """First child and number of children of each node; none for nodes that do not exist."""
    if level == 0:
        children = _host(trie.levels[0].code).shape[0]
        return np.zeros(len(node), np.int64), np.full(len(node), children)
    first_child = _host(trie.levels[level - 1].first_child)
    exists = (node >= 0) & (node < len(first_child) - 1)
    at = np.where(exists, node, 0)
    low = first_child[at].astype(np.int64)
    return low, first_child[at + exists] - low


def pick(matrix: Tensor, column: Tensor, count: Index) -> Tensor:
    """Elements of a matrix whose row i serves the next count[i] columns."""
    rows, pitch = matrix.shape
    if matrix.flags.c_contiguous:
        flat = matrix.reshape(-1)
    elif matrix.strides[1] == matrix.itemsize and matrix.strides[0] % matrix.itemsize == 0:
        # padded rows: what lies between them is never picked
        reach = (rows - 1) * (matrix.strides[0] // matrix.itemsize) + pitch
        pitch = matrix.strides[0] // matrix.itemsize
        flat = np.lib.stride_tricks.as_strided(matrix, (reach,), (matrix.itemsize,))
    else:
        return matrix[np.repeat(np.arange(rows), count), column]
    # flat numbers are twice as fast as pairs; int64: they can exceed 2^31
    at = np.repeat(np.arange(rows) * pitch, count)
    at += column
    return flat.take(at)


def dropped(filters: Filters | None, level: int, request: int, children: Children) -> Index | None:
    """Entries that the filters of a request remove; None when there are none.

    The children of a row are consecutive nodes, so they meet one run of the request's list: two
    searches a row find it.
    """
    if filters is None:
        return None
    kind, mask = int(_host(filters.kind)[request]), int(_host(filters.mask)[request])
    gone = []
    if kind == EXCLUDE:
        gone.append(_listed(filters, level, request, children))
    elif kind == ALLOW:
        others = np.ones(len(children.node), np.bool_)
        others[_listed(filters, level, request, children)] = False
        gone.append(np.flatnonzero(others))
    if mask >= 0:
        words = _host(filters.words[level])[mask]
        bit = words.take(children.node >> 5) >> (children.node & 31).astype(np.uint32)
        gone.append(np.flatnonzero((bit & 1) == 0))
    return np.concatenate(gone) if gone else None


def _listed(filters: Filters, level: int, request: int, children: Children) -> Index:
    """Entries whose node is on the request's list."""
    start = _host(filters.start)[level]
    nodes = _host(filters.nodes)[level, start[request] : start[request + 1]]
    begin = np.searchsorted(nodes, children.low)
    run = np.searchsorted(nodes, children.low + children.count) - begin
    ends = np.cumsum(run)
    at = np.arange(ends[-1] if len(ends) else 0) + np.repeat(begin - (ends - run), run)
    found: Index = nodes[at] + np.repeat(children.start[:-1] - children.low, run)
    return found


def _host(array: Any) -> Tensor:
    # the protocol of the layers above promises less than NumPy has
    host: Tensor = array
    return host
