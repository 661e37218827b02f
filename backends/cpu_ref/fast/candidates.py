"""The children of many rows as one flat list in (row, code) order, and what filters leave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xgr.errors import InputError
from xgr.ops.array import ALLOW, EXCLUDE, KEEP_ALL, Filters, Trie

Tensor = NDArray[Any]
Index = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Children:
    """Children of consecutive live rows.

    Attributes:
        row: int64 [n], the rows.
        low: int64 [n], first child of each row.
        count: int64 [n], children of each row.
        start: int64 [n + 1], row i's children are entries start[i] up to start[i + 1] - 1.
        node: int64 [N], the children.
        code: int32 [N], their columns in the logits of the level.
        request: int64 [requests + 1], each request's rows are entries of `row` likewise.
    """

    row: Index
    low: Index
    count: Index
    start: Index
    node: Index
    code: Tensor
    request: Index

    def spread(self, values: Tensor) -> Tensor:
        """A value of each row, repeated for its children."""
        return np.repeat(values, self.count)

    def bounds(self, request: int) -> tuple[int, int]:
        """Entries of a request, counted from the first request here."""
        first, end = self.request[request], self.request[request + 1]
        return int(self.start[first]), int(self.start[end])


def live_rows(row_start: Tensor, live: Tensor) -> tuple[Index, Index]:
    """Live rows of consecutive requests, and where each request's begin among them."""
    request = np.zeros(len(live) + 1, np.int64)
    np.cumsum(live, out=request[1:])
    first = row_start[:-1] - request[:-1]
    return np.arange(request[-1]) + np.repeat(first, live), request


def child_range(trie: Trie, level: int, node: Tensor) -> tuple[Index, Index]:
    """First child and number of children of each node; none for nodes that do not exist.

    Raises:
        InputError: the catalogue has no such level.
    """
    if not 0 <= level < len(trie.levels):
        raise InputError(f"level {level} of a catalogue with {len(trie.levels)} levels")
    if level == 0:
        children = _host(trie.levels[0].code).shape[0]
        return np.zeros(len(node), np.int64), np.full(len(node), children)
    first_child = _host(trie.levels[level - 1].first_child)
    exists = (node >= 0) & (node < len(first_child) - 1)
    at = np.where(exists, node, 0)
    low = first_child[at].astype(np.int64)
    high = first_child[at + exists].astype(np.int64)
    return low, high - low


def gather(trie: Trie, level: int, node: Tensor, row_start: Tensor, live: Tensor) -> Children:
    """Children at `level` of the live rows of consecutive requests."""
    row, request = live_rows(row_start, live)
    low, count = child_range(trie, level, node[row])
    start = np.zeros(len(row) + 1, np.int64)
    np.cumsum(count, out=start[1:])
    child = np.arange(start[-1])
    child += np.repeat(low - start[:-1], count)
    code = _host(trie.levels[level].code).take(child)
    return Children(row, low, count, start, child, code, request)


def dropped(filters: Filters | None, level: int, first: int, children: Children) -> Index | None:
    """Entries that filters remove; None when there are none.

    The children of a row are consecutive nodes, so they meet one run of the request's list: two
    searches a row find it. `first` is the request of the children's first row.
    """
    if filters is None:
        return None
    requests = len(children.request) - 1
    kinds = _host(filters.kind)[first : first + requests].tolist()
    masks = _host(filters.mask)[first : first + requests].tolist()
    gone = []
    for request, (kind, mask) in enumerate(zip(kinds, masks, strict=True)):
        begin, end = children.bounds(request)
        if kind != KEEP_ALL:
            span = slice(children.request[request], children.request[request + 1])
            listed = _listed(filters, level, first + request, children, span)
            if kind == EXCLUDE:
                gone.append(listed)
            elif kind == ALLOW:
                others = np.ones(end - begin, np.bool_)
                others[listed - begin] = False
                gone.append(np.flatnonzero(others) + begin)
        if mask >= 0:
            words = _host(filters.words[level])[mask]
            node = children.node[begin:end]
            bit = words.take(node >> 5) >> (node & 31).astype(np.uint32)
            gone.append(np.flatnonzero((bit & 1) == 0) + begin)
    return np.concatenate(gone) if gone else None


def _listed(filters: Filters, level: int, request: int, children: Children, span: slice) -> Index:
    start = _host(filters.start)[level]
    nodes = _host(filters.nodes)[level, start[request] : start[request + 1]]
    low, count = children.low[span], children.count[span]
    begin = np.searchsorted(nodes, low)
    run = np.searchsorted(nodes, low + count) - begin
    ends = np.cumsum(run)
    at = np.arange(ends[-1] if len(ends) else 0) + np.repeat(begin - (ends - run), run)
    found: Index = nodes[at] + np.repeat(children.start[:-1][span] - low, run)
    return found


def _host(array: Any) -> Tensor:
    # the protocol of the layers above promises less than NumPy has
    host: Tensor = array
    return host
