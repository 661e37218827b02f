"""The catalogue on a device: the trie's arrays, and the filter buffers of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xgr.errors import InputError
from xgr.ops.array import ALLOW, EXCLUDE, KEEP_ALL, Filters, Trie, TrieLevel
from xgr.ops.dtype import int32, uint32

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


class FilterBuffers:
    """Fixed-capacity device buffers for the filters of one batch after another.

    Registered filters stay on the device while they are used: their masks take one of `masks`
    slots, the least recently used one makes room.
    """

    def __init__(
        self, rt: Runtime, catalogue: Catalogue, requests: int, capacity: int, masks: int
    ) -> None:
        depth = catalogue.depth
        self._rt, self._requests, self._capacity, self._masks = rt, requests, capacity, masks
        self._slots: dict[int, tuple[int, NamedMask]] = {}
        words = tuple(
            rt.empty((masks, -(-len(level.code) // 32)), uint32) for level in catalogue.levels
        )
        self.filters = Filters(
            kind=rt.empty((requests,), int32),
            start=rt.empty((depth, requests + 1), int32),
            nodes=rt.empty((depth, capacity), int32),
            mask=rt.empty((requests,), int32),
            words=words,
        )

    def write(self, filters: Sequence[RequestFilter | None]) -> None:
        """Fill the buffers for a batch; requests beyond the given ones are not filtered.

        Raises:
            InputError: more nodes or masks than the buffers hold, with the limit and its name.
        """
        rt, arrays = self._rt, self.filters
        padding = self._requests - len(filters)
        kinds = [_KIND[f.kind] if f is not None else KEEP_ALL for f in filters]
        named = [f.mask if f is not None else None for f in filters]
        slots = self._assign([m for m in named if m is not None])
        rt.write(arrays.kind, kinds + [KEEP_ALL] * padding)
        mask = [-1 if m is None else slots[id(m)] for m in named]
        rt.write(arrays.mask, mask + [-1] * padding)
        for level in range(len(arrays.words)):
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
            for nodes, begin in zip(lists, start, strict=False):
                if len(nodes):
                    rt.write(arrays.nodes[level, begin : begin + len(nodes)], nodes)
            rt.write(arrays.start[level], start + start[-1:] * padding)

    def _assign(self, named: Sequence[NamedMask]) -> dict[int, int]:
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
                for words, level in zip(self.filters.words, mask.levels, strict=True):
                    self._rt.write(words[slot[0]], level)
            self._slots[key] = slot  # moved to the end: most recently used
        return {key: self._slots[key][0] for key in wanted}

    def _free_slot(self, wanted: dict[int, NamedMask]) -> int:
        if len(self._slots) < self._masks:
            return len(self._slots)
        oldest = next(key for key in self._slots if key not in wanted)
        return self._slots.pop(oldest)[0]
