"""The oracle's trie: distinct SIDs in sorted order, one tensor of nodes a level."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch


class Trie:
    """Every prefix of a set of token tuples of one depth, as tensors.

    Nodes of a level are in lexicographic order of their prefixes, so the children of a node are
    a range of the next level and a wider search needs no Python loop over beams.

    Attributes:
        depth: number of tokens D of every SID.
        tokens: D tensors int64 [n_l], the last token of each node of level l.
        starts: D tensors int64 [n_{l-1} + 1]; the children of node i of the level above are
            nodes starts[l][i] to starts[l][i + 1] of level l. The root is the one node above 0.
    """

    def __init__(self, sids: Iterable[Sequence[int]]) -> None:
        """Sorts the SIDs and drops repeats.

        Raises:
            ValueError: no SIDs, SIDs of several lengths, or SIDs without tokens.
        """
        distinct = sorted({tuple(sid) for sid in sids})
        depths = {len(sid) for sid in distinct}
        if len(depths) != 1 or 0 in depths:
            raise ValueError(f"a trie needs SIDs of one length above 0, got lengths {depths}")
        self.depth = depths.pop()
        self.tokens: list[torch.Tensor] = []
        self.starts: list[torch.Tensor] = []
        above: list[tuple[int, ...]] = [()]
        for level in range(self.depth):
            prefixes = sorted({sid[: level + 1] for sid in distinct})
            count = dict.fromkeys(above, 0)
            for prefix in prefixes:
                count[prefix[:-1]] += 1
            sizes = torch.tensor([0, *(count[prefix] for prefix in above)])
            self.starts.append(sizes.cumsum(0))
            self.tokens.append(torch.tensor([prefix[-1] for prefix in prefixes]))
            above = prefixes

    def children(self, level: int, nodes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """All children of `nodes` (int64 [n], of the level above): row [c] and child node [c].

        Rows ascend and the children of a row ascend, so sorted nodes give sorted paths.
        """
        starts = self.starts[level]
        first = starts[nodes]
        sizes = starts[nodes + 1] - first
        rows = torch.repeat_interleave(sizes)
        before = sizes.cumsum(0) - sizes
        return rows, torch.arange(len(rows)) + (first - before)[rows]
