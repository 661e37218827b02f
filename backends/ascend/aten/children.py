"""Children of every row in the catalogue, and which of them filters keep, as [R, K] arrays.

Column j of a row is its j-th child. Codes ascend within a node, so that this order is the order
of the codes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from xgr.backends.ascend.aten.rows import Rows, counting
from xgr.backends.levels import check_level
from xgr.ops.array import ALLOW, EXCLUDE, Filters, Trie
from xgr.registry.kernel import Context

# a request's number and a node in one int64
_NODES = 1 << 32


@dataclass(frozen=True, slots=True)
class Children:
    """What the catalogue has for each row.

    Attributes:
        legal: bool [R, K], there is a j-th child, and the row is live.
        node: int32 [R, K], the child; 0 where there is none.
        code: int64 [R, K], its code; that of node 0 where there is none.
    """

    legal: Tensor
    node: Tensor
    code: Tensor


class Catalogue:
    """Reads a level of the catalogue for R rows and K codes, and the lists of B requests.

    The trie's arrays are read as they are: a captured graph keeps to the catalogue that it was
    captured with.

    Args:
        context: of the bind.
        rows: the batch.
        columns: K.
    """

    def __init__(self, context: Context, rows: Rows, columns: int) -> None:
        self._context, self._rows = context, rows
        self._column = counting(context, columns)
        self._listed: Tensor | None = None
        self._bit = counting(context, 32)
        self._bit.copy_(torch.ones((), dtype=torch.int32) << torch.arange(32, dtype=torch.int32))

    def children(self, trie: Trie, level: int, node: Tensor, alive: Tensor) -> Children:
        """Children at `level` of the nodes [R] of live rows; the root's at level 0.

        Raises:
            InputError: `level` is beyond the catalogue's depth, or its codes exceed the columns.
        """
        check_level(trie, level, self._column.shape[0])
        code: Any = trie.levels[level].code
        if level == 0:
            child = self._column.expand(alive.shape[0], -1)
            legal = (child < code.shape[0]) & alive[:, None]
        else:
            low, count = self._range(trie, level, node)
            child = low[:, None] + self._column
            legal = (self._column < count[:, None]) & alive[:, None]
        child = child.masked_fill(~legal, 0)
        found = code.index_select(0, child.reshape(-1)).to(torch.int64)
        return Children(legal, child, found.view(child.shape))

    def kept(self, children: Children, filters: Filters, level: int, owner: Tensor) -> Tensor:
        """Which children the filters of their request let live, bool [R, K]; not all are legal."""
        here = self._rows.within(owner)
        kind = _of(filters.kind, here)
        listed = self._is_listed(children, filters, level, owner)
        alive = torch.where(listed, kind != EXCLUDE, kind != ALLOW)
        words: Any = filters.words[level] if filters.words else None
        if words is None or not words.shape[0]:
            return alive
        slot = _of(filters.mask, here)
        return alive & (self._is_set(words, slot.clamp_min(0), children.node) | (slot < 0))

    @staticmethod
    def _range(trie: Trie, level: int, node: Tensor) -> tuple[Tensor, Tensor]:
        below: Any = trie.levels[level - 1].first_child
        exists = (node >= 0) & (node < below.shape[0] - 1)
        at = node.masked_fill(~exists, 0)
        low: Tensor = below.index_select(0, at)
        return low, (below.index_select(0, at + 1) - low).masked_fill_(~exists, 0)

    def _is_listed(self, children: Children, filters: Filters, level: int, owner: Tensor) -> Tensor:
        """Whether a child is on its request's list: all lists are searched as one sorted list."""
        start: Any = filters.start
        nodes: Any = filters.nodes
        begin, ends, listed = start[level, :1], start[level, 1:], nodes[level]
        if self._listed is None or self._listed.shape != listed.shape:
            # once: a filter's capacity is fixed, and no size of the problem
            self._listed = counting(self._context, listed.shape[0])
        whose = torch.searchsorted(ends, self._listed, right=True, out_int32=True).to(torch.int64)
        # what lies before and behind the lists is of nobody, and as if sorted
        key = whose * _NODES + listed.to(torch.int64)
        key.masked_fill_(whose >= ends.shape[0], 1 << 62).masked_fill_(self._listed < begin, -1)
        wanted = owner.to(torch.int64)[:, None] * _NODES + children.node.to(torch.int64)
        at = torch.searchsorted(key, wanted).clamp_max(key.shape[0] - 1)
        found = key.index_select(0, at.view(-1)).view(at.shape)
        listed_here: Tensor = found == wanted
        return listed_here

    def _is_set(self, words: Tensor, slot: Tensor, node: Tensor) -> Tensor:
        """The bit of each node in the masks [M, W] at `slot` [R, 1]."""
        flat = words.view(torch.int32).view(-1)
        at = slot * words.shape[1] + (node >> 5)
        word = flat.index_select(0, at.view(-1))
        bit = self._bit.index_select(0, (node & 31).view(-1))
        return ((word & bit) != 0).view(node.shape)


def _of(values: Any, request: Tensor) -> Tensor:
    """Values [B] of the requests of rows, [R, 1]."""
    found: Tensor = values.index_select(0, request)
    return found[:, None]
