"""The catalogue on a device: the trie's arrays, and the filter buffers of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from xgr.errors import InputError
from xgr.ops.array import ALLOW, DESCRIBED, EXCLUDE, KEEP_ALL, Array, Filters, Trie, TrieLevel
from xgr.ops.dtype import int32, int64, uint32

if TYPE_CHECKING:
    from xgr.catalog.catalogue import Catalogue
    from xgr.catalog.filters import NamedMask, RequestFilter
    from xgr.runtime import Runtime

_KIND = {"none": KEEP_ALL, "exclude": EXCLUDE, "allow": ALLOW}


def upload_trie(rt: Runtime, catalogue: Catalogue) -> Trie:
    """The catalogue's levels as arrays of a runtime.

    Raises:
        CatalogueError: a saved catalogue whose files have changed (`Catalogue.check`).
    """
    catalogue.check()
    levels = tuple(
        TrieLevel(
            code=rt.upload(level.code, int32),
            first_child=None if level.first_child is None else rt.upload(level.first_child, int32),
        )
        for level in catalogue.levels
    )
    return Trie(levels, catalogue.level_sizes, catalogue.version)


class Served:
    """The catalogue that an engine serves now, on its device, and the registered filters in use.

    Where kernels reach it through a descriptor, that keeps its place as long as this object lives,
    so launches that were recorded find the catalogue of the day. What was launched before on the
    same stream finds the one of before.

    Registered filters stay on the device while they are used: their masks take one of `masks`
    slots, the least recently used one makes room.
    """

    def __init__(self, rt: Runtime, masks: int) -> None:
        self._rt, self._masks = rt, masks
        self._trie: Trie | None = None
        self._words: tuple[Array, ...] = ()
        self._slots: dict[int, tuple[int, NamedMask]] = {}

    def trie(self, catalogue: Catalogue) -> Trie:
        """The catalogue's trie, uploaded unless it is the one that is served.

        Raises:
            CatalogueError: as `upload_trie`; the one before is served still.
        """
        if self._trie is None or self._trie.version != catalogue.version:
            before, trie = self._trie, upload_trie(self._rt, catalogue)
            self._words, self._slots = (), {}
            self._trie = self._described(trie, before.descriptor if before else None)
        return self._trie

    def words(self, catalogue: Catalogue) -> tuple[Array, ...]:
        """Bits of the registered filters, uint32 [masks, ceil(n / 32)] a level of n nodes."""
        trie = self.trie(catalogue)
        if not self._words:
            sizes = [-(-level.code.shape[0] // 32) for level in trie.levels]
            self._words = tuple(self._rt.empty((self._masks, size), uint32) for size in sizes)
            self._trie = self._described(trie, trie.descriptor)
        return self._words

    def slots(self, named: Sequence[NamedMask]) -> dict[int, int]:
        """Slot of each registered filter by its id(), after what is not there has been written.

        Raises:
            InputError: more filters than there are slots.
        """
        wanted = {id(mask): mask for mask in named}
        if len(wanted) > self._masks:
            raise InputError(
                f"a batch uses {len(wanted)} registered filters, the engine holds "
                f"filter_masks={self._masks}: start the engine with a larger filter_masks"
            )
        for key, mask in wanted.items():
            slot = self._slots.pop(key, None)
            if slot is None:
                slot = (self._free_slot(wanted), mask)
                for words, level in zip(self._words, mask.levels, strict=True):
                    self._rt.write(words[slot[0]], level)
            self._slots[key] = slot  # moved to the end: most recently used
        return {key: self._slots[key][0] for key in wanted}

    def _free_slot(self, wanted: dict[int, NamedMask]) -> int:
        used = {slot for slot, _ in self._slots.values()}
        if len(used) < self._masks:
            return next(slot for slot in range(self._masks) if slot not in used)
        oldest = next(key for key in self._slots if key not in wanted)
        return self._slots.pop(oldest)[0]

    def _described(self, trie: Trie, descriptor: Array | None) -> Trie:
        """The trie with a descriptor that holds its addresses, where the backend has addresses."""
        address = self._rt.backend.address
        if descriptor is None:
            descriptor = self._rt.empty((len(trie.levels) * len(DESCRIBED),), int64)
        if address(descriptor) is None:
            return trie
        values: list[int | None] = []
        for at, level in enumerate(trie.levels):
            below, words = level.first_child, self._words[at] if self._words else None
            values += [
                address(level.code),
                level.code.shape[0],
                None if below is None else address(below),
                None if words is None else address(words),
                None if words is None else words.shape[1],
            ]
        self._rt.write(descriptor, [value or 0 for value in values])
        return replace(trie, descriptor=descriptor)


class FilterBuffers:
    """Fixed-capacity device buffers for the filters of one batch after another.

    They are of no catalogue: a swap leaves them where they are.
    """

    def __init__(self, rt: Runtime, depth: int, requests: int, capacity: int) -> None:
        self._rt, self._requests, self._capacity = rt, requests, capacity
        self._arrays = Filters(
            kind=rt.empty((requests,), int32),
            start=rt.empty((depth, requests + 1), int32),
            nodes=rt.empty((depth, capacity), int32),
            mask=rt.empty((requests,), int32),
            words=(),
        )

    def over(self, words: tuple[Array, ...]) -> Filters:
        """The buffers as kernels take them, with the bits of the catalogue that is served."""
        return replace(self._arrays, words=words)

    def write(self, filters: Sequence[RequestFilter | None], served: Served) -> None:
        """Fill the buffers for a batch; requests beyond the given ones are not filtered.

        Raises:
            InputError: more nodes or masks than are held, with the limit and its name.
        """
        rt, arrays = self._rt, self._arrays
        padding = self._requests - len(filters)
        kinds = [_KIND[f.kind] if f is not None else KEEP_ALL for f in filters]
        named = [f.mask if f is not None else None for f in filters]
        slots = served.slots([m for m in named if m is not None])
        rt.write(arrays.kind, kinds + [KEEP_ALL] * padding)
        mask = [-1 if m is None else slots[id(m)] for m in named]
        rt.write(arrays.mask, mask + [-1] * padding)
        for level in range(arrays.start.shape[0]):
            start = [0]
            lists = [f.nodes[level] if f is not None and f.kind != "none" else () for f in filters]
            for nodes in lists:
                start.append(start[-1] + len(nodes))
            if start[-1] > self._capacity:
                raise InputError(
                    f"the filters of a batch name {start[-1]} nodes of level {level}, the engine "
                    f"holds filter_capacity={self._capacity}: register large filters by name, or "
                    "start the engine with a larger filter_capacity"
                )
            if start[-1]:
                joined = np.concatenate([nodes for nodes in lists if len(nodes)])
                rt.write(arrays.nodes[level, : start[-1]], joined)
            rt.write(arrays.start[level], start + start[-1:] * padding)
