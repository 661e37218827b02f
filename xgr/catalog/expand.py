"""From the leaves of a beam to the items that are returned."""

from __future__ import annotations

import numpy as np

from xgr.catalog.filters import RequestFilter
from xgr.catalog.search import Int64s
from xgr.catalog.trie import Trie

PIECE = 1 << 16


def expand_leaves(
    trie: Trie, leaves: Int64s, k: int, per_sid: int | None, passes: RequestFilter | None
) -> tuple[Int64s, Int64s]:
    """The first k items of leaves, leaf by leaf, each leaf's in the stated order.

    Items are looked at in pieces, so that one SID with millions of items costs no more than it
    yields.

    Returns:
        positions int64 [n], n <= k, and the index into `leaves` that each came from.
    """
    first = trie.item_start[leaves].astype(np.int64)
    ends = np.cumsum(trie.item_start[leaves + 1] - first)
    begins = np.concatenate(([0], ends[:-1])) if len(ends) else ends
    positions, beams = [], []
    found, at = 0, 0
    taken_of, taken = -1, 0
    while found < k and len(ends) and at < ends[-1]:
        flat = np.arange(at, min(at + PIECE, int(ends[-1])))
        at += len(flat)
        beam = np.searchsorted(ends, flat, side="right")
        position = first[beam] + flat - begins[beam]
        if passes is not None:
            keep = passes.alive(position)
            beam, position = beam[keep], position[keep]
        if per_sid is not None and len(beam):
            place = np.arange(len(beam)) - np.searchsorted(beam, beam)
            place[beam == taken_of] += taken
            taken_of, taken = int(beam[-1]), int(place[-1]) + 1
            keep = place < per_sid
            beam, position = beam[keep], position[keep]
            if taken >= per_sid:
                at = max(at, int(ends[taken_of]))
        positions.append(position[: k - found])
        beams.append(beam[: k - found])
        found += len(positions[-1])
    if not positions:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    return np.concatenate(positions), np.concatenate(beams)
