"""Per-request and named filters: which items, SIDs and prefixes may come out."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from xgr.catalog.given import shown
from xgr.catalog.order import BLOCK
from xgr.catalog.search import Bools, Int32s, Int64s, contains
from xgr.catalog.trie import Trie
from xgr.errors import InputError

Words = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class NamedMask:
    """A filter that many requests share, as bits.

    Attributes:
        name: the registered name, or "a&b" for a conjunction.
        levels: D arrays of uint32 words; bit (node & 31) of word (node >> 5) is set while one item
            under the node is alive.
        items: the same over item positions.
        ranks: int32 [words + 1], items alive before each word of `items`.
    """

    name: str
    levels: tuple[Words, ...]
    items: Words
    ranks: Int32s

    @property
    def num_alive(self) -> int:
        """Items that pass."""
        return int(self.ranks[-1])

    def alive(self, positions: Int64s) -> Bools:
        """Which item positions pass."""
        return bits_at(self.items, positions)

    def alive_before(self, positions: npt.NDArray[np.integer]) -> Int64s:
        """Number of live items at smaller positions, in O(1) each."""
        word, bit = positions >> 5, (positions & 31).astype(np.uint32)
        padded = self.items[np.minimum(word, len(self.items) - 1)]
        below = padded & ((np.uint32(1) << bit) - np.uint32(1))
        return np.asarray(self.ranks[word] + np.bitwise_count(below), dtype=np.int64)


@dataclass(frozen=True)
class RequestFilter:
    """What one request excludes or allows; no prefix that it leaves alive is a dead end.

    Attributes:
        kind: "none", "exclude" or "allow".
        nodes: per level the sorted int32 nodes that die ("exclude") or live ("allow"); all empty
            for "none".
        mask: the named filter that holds besides `nodes`, or None.
        items: sorted int64 positions that are excluded, or the only ones allowed.
    """

    kind: Literal["none", "exclude", "allow"]
    nodes: tuple[Int32s, ...]
    mask: NamedMask | None
    items: Int64s

    def alive(self, positions: npt.ArrayLike) -> Bools:
        """Which item positions pass, bool of the same length."""
        where = np.asarray(positions, dtype=np.int64)
        if self.kind == "allow":
            return contains(self.items, where)
        alive = ~contains(self.items, where)
        return alive & self.mask.alive(where) if self.mask is not None else alive


class NamedFilters:
    """Filters registered with one catalogue, and their conjunctions as they are asked for."""

    def __init__(self, trie: Trie, masks: Mapping[str, NamedMask] | None = None) -> None:
        self._trie = trie
        self._lock = threading.Lock()
        self._masks = dict(masks or {})
        self._joined: dict[tuple[str, ...], NamedMask] = {}

    def renumbered(self, trie: Trie) -> NamedFilters:
        """The same filters for a trie with the same nodes and positions."""
        with self._lock:
            return NamedFilters(trie, self._masks)

    def moved(self, trie: Trie, rows: Int32s) -> NamedFilters:
        """The same filters for a trie whose position i was position rows[i]."""
        with self._lock:
            masks = dict(self._masks)
        items = {name: pack_bits(bits_at(mask.items, rows)) for name, mask in masks.items()}
        return NamedFilters(
            trie, {name: build_mask(trie, name, bits) for name, bits in items.items()}
        )

    def register(self, name: str, alive: Bools) -> NamedMask:
        """Keep a filter; one of the same name is replaced for later requests."""
        mask = build_mask(self._trie, name, pack_bits(alive))
        with self._lock:
            self._masks[name] = mask
            self._joined = {k: v for k, v in self._joined.items() if name not in k}
        return mask

    def get(self, names: Sequence[str]) -> NamedMask | None:
        """The conjunction of named filters; None for no name.

        Raises:
            InputError: an unknown name; the message lists the known ones.
        """
        if not isinstance(names, Collection):
            raise InputError(f"named={shown(names)}: a list of registered filters is expected")
        for name in names:
            if not isinstance(name, str):
                raise InputError(
                    f"filter name {shown(name)} is a {type(name).__name__}, not a text"
                )
        key = tuple(sorted(set(names)))
        with self._lock:
            for name in key:
                if name not in self._masks:
                    known = ", ".join(sorted(self._masks)) or "none"
                    raise InputError(f"unknown filter {name!r}; registered filters: {known}")
            if len(key) < 2:
                return self._masks[key[0]] if key else None
            if key not in self._joined:
                items = np.bitwise_and.reduce([self._masks[name].items for name in key])
                self._joined[key] = build_mask(self._trie, "&".join(key), items)
            return self._joined[key]


def exclusion(trie: Trie, excluded: Int64s, mask: NamedMask | None) -> RequestFilter:
    """A filter that drops sorted, distinct positions, and the nodes that lose their last item.

    A touched node dies when the excluded items that the mask leaves alive are all that it has
    alive. Only nodes above excluded items are looked at: O(E D log N).
    """
    effective = excluded if mask is None else excluded[mask.alive(excluded)]
    leaves = trie.leaves_of(effective)
    nodes = []
    for level in range(len(trie.levels)):
        touched, gone = np.unique(trie.nodes_of(level, leaves), return_counts=True)
        first, end = trie.positions_under(level, touched)
        has = end - first if mask is None else mask.alive_before(end) - mask.alive_before(first)
        nodes.append(touched[gone == has].astype(np.int32))
    return RequestFilter("exclude", tuple(nodes), mask, excluded)


def permission(trie: Trie, allowed: Int64s) -> RequestFilter:
    """A filter that keeps sorted, distinct positions only."""
    leaves = trie.leaves_of(allowed)
    nodes = tuple(
        np.unique(trie.nodes_of(level, leaves)).astype(np.int32)
        for level in range(len(trie.levels))
    )
    return RequestFilter("allow", nodes, None, allowed)


def no_filter(trie: Trie, mask: NamedMask | None) -> RequestFilter:
    """A filter of named masks alone, or of nothing."""
    empty = tuple(np.empty(0, dtype=np.int32) for _ in trie.levels)
    return RequestFilter("none", empty, mask, np.empty(0, dtype=np.int64))


def build_mask(trie: Trie, name: str, items: Words) -> NamedMask:
    """The node masks that follow from an item mask; once a filter, O(nodes)."""
    ranks = np.zeros(len(items) + 1, dtype=np.int32)
    np.cumsum(np.bitwise_count(items), out=ranks[1:], dtype=np.int32)
    mask = NamedMask(name, (), items, ranks)
    levels = []
    for level, nodes in enumerate(trie.levels):
        alive = np.empty(len(nodes), dtype=np.bool_)
        for base in range(0, len(nodes), BLOCK):
            some = np.arange(base, min(base + BLOCK, len(nodes)))
            first, end = trie.positions_under(level, some)
            alive[base : base + BLOCK] = mask.alive_before(end) > mask.alive_before(first)
        levels.append(pack_bits(alive))
    return NamedMask(name, tuple(levels), items, ranks)


def pack_bits(alive: Bools) -> Words:
    """Booleans as uint32 words, bit i & 31 of word i >> 5; padding bits are 0."""
    packed = np.zeros((len(alive) + 31) // 32 * 4, dtype=np.uint8)
    bits = np.packbits(alive, bitorder="little")
    packed[: len(bits)] = bits
    return packed.view("<u4").astype(np.uint32, copy=False)


def bits_at(words: Words, index: npt.NDArray[np.integer]) -> Bools:
    """The bits at some indices."""
    bit = (index & 31).astype(np.uint32)
    return np.asarray((words[index >> 5] >> bit) & np.uint32(1), dtype=np.bool_)
