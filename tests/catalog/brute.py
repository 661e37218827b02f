"""An independent dict trie, and brute-force answers to what a catalogue is asked."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

SID = tuple[int, ...]

# No deadline: a busy machine is not a fault.
examples = settings(deadline=None, max_examples=60)


class BruteTrie:
    """SIDs by dictionaries of tuples; items of a SID in the order of their rows."""

    def __init__(self, sids: Sequence[SID]) -> None:
        self.depth = len(sids[0])
        self.items: dict[SID, list[int]] = {}
        for item, sid in enumerate(sids):
            self.items.setdefault(tuple(sid), []).append(item)
        self.leaves = sorted(self.items)
        self.prefixes = [
            sorted({leaf[: level + 1] for leaf in self.leaves}) for level in range(self.depth)
        ]
        self.order = [item for leaf in self.leaves for item in self.items[leaf]]

    def alive_prefixes(self, alive: Collection[int], level: int) -> set[SID]:
        """Prefixes of a level under which one item of `alive` lies."""
        return {leaf[: level + 1] for leaf, items in self.items.items() if set(items) & set(alive)}

    def expand(
        self, leaves: Sequence[int], k: int, per_sid: int | None, alive: Collection[int]
    ) -> list[tuple[int, int]]:
        """(item, index into leaves) in order."""
        out = []
        for beam, leaf in enumerate(leaves):
            kept = [item for item in self.items[self.leaves[leaf]] if item in set(alive)]
            out += [(item, beam) for item in kept[:per_sid]]
        return out[:k]


@st.composite
def sid_rows(draw: st.DrawFn) -> list[SID]:
    """Rows with many shared prefixes, shared SIDs, one-child chains and one-code levels."""
    depth = draw(st.integers(1, 5))
    sizes = draw(st.lists(st.sampled_from([1, 2, 3, 7]), min_size=depth, max_size=depth))
    row = st.tuples(*(st.integers(0, size - 1) for size in sizes))
    return draw(st.lists(row, min_size=1, max_size=40))


def as_array(sids: Sequence[SID]) -> np.ndarray:
    """The rows as int32 [N, D]."""
    return np.asarray(sids, dtype=np.int32)
