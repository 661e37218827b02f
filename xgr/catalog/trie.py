"""The trie of semantic IDs as sorted arrays: nodes, children, leaves and the items of a leaf."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from xgr.catalog.search import Int32s, Int64s, lower_bound


class Level:
    """The nodes of one level, in lexicographic order of their prefixes.

    Attributes:
        code: int32 [n], the last code of each prefix; ascending among the children of one parent.
        first_child: int32 [n + 1] into the next level: the children of node i are
            first_child[i]..first_child[i+1]-1. None at the last level.
    """

    def __init__(self, code: Int32s, first_child: Int32s | None, bounds: Int32s | None) -> None:
        self.code = code
        self.first_child = first_child
        self._bounds = bounds

    def __len__(self) -> int:
        """Number of nodes."""
        return len(self.code)

    @cached_property
    def bounds(self) -> Int32s:
        """int32 [n + 1]: the leaves under node i are bounds[i]..bounds[i+1]-1."""
        if self._bounds is not None:
            return self._bounds
        # The last level's nodes are the leaves themselves: nothing to store.
        return np.arange(len(self.code) + 1, dtype=np.int32)

    @property
    def leaf_lo(self) -> Int32s:
        """int32 [n], the first leaf under each node."""
        return self.bounds[:-1]

    @property
    def leaf_hi(self) -> Int32s:
        """int32 [n], one past the last leaf under each node."""
        return self.bounds[1:]


@dataclass(frozen=True)
class Trie:
    """All levels, and where each leaf's items lie.

    Attributes:
        levels: D levels; those of level 0 are the children of the root.
        item_start: int32 [num_sids + 1], the positions of a leaf's items are
            item_start[leaf]..item_start[leaf+1]-1.
    """

    levels: tuple[Level, ...]
    item_start: Int32s

    @property
    def num_sids(self) -> int:
        """Number of leaves."""
        return len(self.item_start) - 1

    @property
    def num_items(self) -> int:
        """Number of items."""
        return int(self.item_start[-1])

    def nodes_of(self, level: int, leaves: Int64s) -> Int64s:
        """Node of a level that each leaf lies under."""
        if level == len(self.levels) - 1:
            return leaves
        return _interval_of(self.levels[level].bounds, leaves)

    def leaves_of(self, positions: Int64s) -> Int64s:
        """Leaf of each item position."""
        return _interval_of(self.item_start, positions)

    def codes(self, leaves: Int64s) -> Int32s:
        """int32 [n, D], the codes along the path to each leaf."""
        out = np.empty((len(leaves), len(self.levels)), dtype=np.int32)
        for depth, level in enumerate(self.levels):
            out[:, depth] = level.code[self.nodes_of(depth, leaves)]
        return out

    def find(self, codes: Int64s) -> Int64s:
        """Leaf of each row of codes [M, D], or -1."""
        nodes = np.zeros(len(codes), dtype=np.int64)
        parents: Int32s | None = np.asarray([0, len(self.levels[0])], dtype=np.int32)
        for depth, level in enumerate(self.levels):
            assert parents is not None
            nodes = _children(level.code, parents, nodes, codes[:, depth])
            parents = level.first_child
        return nodes

    def confirm(self, codes: Int64s, nodes: Int64s) -> Int64s:
        """As `find` of codes that somebody has found the nodes of, in any case right.

        Args:
            codes: [M, D].
            nodes: [M, D], what each row's node of each level is said to be.

        Returns:
            The last node where all are right: in the range of children of the one before, and of
            the code. Rows where one is not are looked up.
        """
        low: Any = 0
        high: Any = len(self.levels[0])
        right = np.ones(len(codes), dtype=np.bool_)
        for level, code, node in zip(self.levels, codes.T, nodes.T, strict=True):
            right &= (low <= node) & (node < high)
            safe = node if right.all() else np.where(right, node, 0)
            right &= level.code[safe] == code
            if level.first_child is not None:
                low, high = level.first_child[safe], level.first_child[safe + 1]
        if right.all():
            return nodes[:, -1]
        wrong = ~right
        leaves = nodes[:, -1].copy()
        leaves[wrong] = self.find(codes[wrong])
        return leaves

    def find_one(self, codes: Sequence[int]) -> int:
        """Leaf of one SID, or -1: as `find`, without the cost of arrays of one element."""
        low, high, node = 0, len(self.levels[0]), -1
        for level, code in zip(self.levels, codes, strict=True):
            if code < 0:
                return -1
            node = bisect_left(level.code, code, low, high)
            if node == high or level.code[node] != code:
                return -1
            if level.first_child is not None:
                low, high = int(level.first_child[node]), int(level.first_child[node + 1])
        return node

    def positions_under(self, level: int, nodes: Int64s) -> tuple[Int32s, Int32s]:
        """First position, and one past the last, of the items under each node."""
        if level == len(self.levels) - 1:
            return self.item_start[nodes], self.item_start[nodes + 1]
        bounds = self.levels[level].bounds
        return self.item_start[bounds[nodes]], self.item_start[bounds[nodes + 1]]


def _interval_of(starts: Int32s, values: Int64s) -> Int64s:
    # The keys take the array's type: the other way round would cast the whole array.
    return np.searchsorted(starts, values.astype(starts.dtype), side="right") - 1


def _children(code: Int32s, first_child: Int32s, parents: Int64s, want: Int64s) -> Int64s:
    dead = parents < 0
    safe = np.where(dead, 0, parents)
    low = first_child[safe].astype(np.int64)
    high = np.where(dead, low, first_child[safe + 1].astype(np.int64))
    at = lower_bound(lambda index: code[index], low, high, want)
    found = at < high
    found[found] = code[at[found]] == want[found]
    return np.where(found, at, -1)
