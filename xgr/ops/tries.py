"""Small random catalogues and filters, as host arrays, for the cases of the beam ops."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from xgr.ops.array import ALLOW, EXCLUDE, Filters, Trie, TrieLevel

Sids = NDArray[np.int32]
Leaves = NDArray[np.bool_]


def random_sids(
    rng: np.random.Generator, sizes: Sequence[int], items: int, chains: bool = False
) -> Sids:
    """Distinct sorted SIDs, int32 [<= items, D]; with `chains` most nodes have one child."""
    sids = np.stack([rng.integers(0, size, items) for size in sizes], axis=1)
    # the first and the last code of every level occur: off-by-one errors show there
    sids[0], sids[-1] = 0, np.asarray(sizes) - 1
    if chains:
        for level in range(1, len(sizes)):
            sids[:, level] = (sids[:, level - 1] * 7 + level) % sizes[level]
    # as one number each: sorting rows is slow
    packed = np.unique(np.ravel_multi_index(tuple(sids.T), tuple(sizes)))
    distinct = np.stack(np.unravel_index(packed, tuple(sizes)), axis=1)
    return distinct.astype(np.int32)


def sids_of(rng: np.random.Generator, sizes: Sequence[int], children: Sequence[int]) -> Sids:
    """Sorted SIDs of two levels and a random last one: so many children a first code."""
    first = np.repeat(np.arange(len(children)), children)
    second = [np.sort(rng.permutation(sizes[1])[:count]) for count in children]
    last = rng.integers(0, sizes[2], len(first))
    return np.stack((first, np.concatenate(second), last), axis=1).astype(np.int32)


def trie_of(sids: Sids, sizes: Sequence[int]) -> Trie:
    """The trie of sorted, distinct SIDs."""
    levels, depth = [], len(sizes)
    # node of each SID at each level, from the prefixes that differ from the row before
    nodes = [_node_of(sids[:, : level + 1]) for level in range(depth)]
    for level, node in enumerate(nodes):
        first = np.flatnonzero(np.diff(node, prepend=-1))
        code = sids[first, level].astype(np.int32)
        below = None
        if level + 1 < depth:
            children = nodes[level + 1]
            below = np.append(children[first], children[-1] + 1).astype(np.int32)
        levels.append(TrieLevel(code, below))
    return Trie(tuple(levels), tuple(sizes), "random")


def _node_of(prefixes: Sids) -> NDArray[np.int64]:
    differs = np.any(prefixes[1:] != prefixes[:-1], axis=1)
    return np.concatenate(([0], np.cumsum(differs)))


def filters_of(
    trie: Trie,
    kinds: Sequence[int],
    alive: Sequence[Leaves],
    mask: Sequence[int],
    shared: Sequence[Leaves],
    spare: int = 3,
) -> Filters:
    """Filters of a batch, from what is alive at the last level.

    Args:
        trie: the catalogue, host arrays.
        kinds: KEEP_ALL, EXCLUDE or ALLOW of each request.
        alive: bool per SID of each request, what its own list leaves; not read with KEEP_ALL.
        mask: index into `shared` of each request, -1 for none.
        shared: bool per SID of each shared mask.
        spare: unused places at the end of the lists; they hold -1.
    """
    depth = len(trie.levels)
    lists: list[list[NDArray[np.int64]]] = [[] for _ in range(depth)]
    for kind, leaves in zip(kinds, alive, strict=True):
        for level, nodes in enumerate(_alive_nodes(trie, leaves)):
            listed = {EXCLUDE: ~nodes, ALLOW: nodes}.get(kind, np.zeros(len(nodes), np.bool_))
            lists[level].append(np.flatnonzero(listed))
    start = np.zeros((depth, len(kinds) + 1), np.int32)
    start[:, 1:] = np.cumsum([[len(one) for one in level] for level in lists], axis=1)
    nodes = np.full((depth, int(start[:, -1].max()) + spare), -1, np.int32)
    for level, parts in enumerate(lists):
        nodes[level, : start[level, -1]] = np.concatenate(parts)
    masks = [_alive_nodes(trie, leaves) for leaves in shared]
    words = tuple(
        _words([one[level] for one in masks], len(np.asarray(trie.levels[level].code)))
        for level in range(depth)
    )
    return Filters(_ints(kinds), start, nodes, _ints(mask), words)


def children_of(trie: Trie, level: int, node: int) -> NDArray[np.int32]:
    """Codes at `level` of the children of a node that exists, the root's at level 0."""
    code = np.asarray(trie.levels[level].code)
    if level == 0:
        return code
    first_child = np.asarray(trie.levels[level - 1].first_child)
    return code[first_child[node] : first_child[node + 1]]


def _alive_nodes(trie: Trie, leaves: Leaves) -> list[Leaves]:
    """Per level, which nodes have a SID alive."""
    found = [leaves]
    for level in reversed(trie.levels[:-1]):
        first_child = np.asarray(level.first_child)
        found.append(np.logical_or.reduceat(found[-1], first_child[:-1]))
    return found[::-1]


def _words(masks: Sequence[Leaves], nodes: int) -> NDArray[np.uint32]:
    bits = np.zeros((len(masks), -(-nodes // 32) * 32), np.bool_)
    for row, one in enumerate(masks):
        bits[row, :nodes] = one
    packed = np.packbits(bits, axis=1, bitorder="little").view("<u4")
    return packed.astype(np.uint32)


def _ints(values: Sequence[int]) -> NDArray[np.int32]:
    return np.asarray(values, np.int32)
