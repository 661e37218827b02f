"""A level of a catalogue and a batch's filters at it, as the kernels take them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.ascend.emulator.machine import Launch
from xgr.ops.array import DESCRIBED, Filters, Trie

Array = NDArray[Any]


@dataclass
class Level:
    """Arrays of a level, or a descriptor that holds their addresses; nothing at all by default.

    Attributes:
        number: the level.
        trie, filters: host arrays, None for none.
        described: pass addresses.
    """

    number: int = 0
    trie: Trie | None = None
    filters: Filters | None = None
    described: bool = False
    _descriptor: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._descriptor = np.zeros(0, np.int64)
        if self.trie is None or not self.described:
            return
        words = []
        for number, level in enumerate(self.trie.levels):
            mask = self._words(number)
            below = level.first_child
            words += [
                np.asarray(level.code).ctypes.data,
                len(np.asarray(level.code)),
                0 if below is None else np.asarray(below).ctypes.data,
                0 if mask is None else mask.ctypes.data,
                0 if mask is None else mask.shape[1],
            ]
        assert len(words) == len(self.trie.levels) * len(DESCRIBED)
        self._descriptor = np.array(words, np.int64)

    @property
    def nodes_here(self) -> int:
        """Nodes of the level; 0 where the descriptor tells."""
        if self.trie is None or self.described:
            return 0
        return len(np.asarray(self.trie.levels[self.number].code))

    @property
    def nodes_above(self) -> int:
        """Nodes of the level above."""
        if self.trie is None or self.described or not self.number:
            return 0
        return len(np.asarray(self.trie.levels[self.number - 1].code))

    @property
    def mask_pitch(self) -> int:
        """Words of one mask."""
        words = self._words(self.number)
        return 0 if words is None or self.described else words.shape[1]

    def catalogue(self, launch: Launch) -> None:
        """Append descriptor, codes and first_child."""
        if self.trie is None:
            launch.array("", None).array("", None).array("", None)
            return
        code = np.asarray(self.trie.levels[self.number].code)
        above = self.trie.levels[self.number - 1].first_child if self.number else None
        first_child = None if above is None else np.asarray(above)
        if self.described:
            launch.array("descriptor", self._descriptor).array("", None).array("", None)
            launch.known("code", code)
            if first_child is not None:
                launch.known("first_child", first_child)
        else:
            launch.array("", None).array("code", code).array("first_child", first_child)

    def filter_arguments(self, launch: Launch) -> None:
        """Append kind, mask, list_start, listed and words."""
        if self.filters is None:
            for _ in range(5):
                launch.array("", None)
            return
        listed = np.ascontiguousarray(np.asarray(self.filters.nodes)[self.number])
        start = np.ascontiguousarray(np.asarray(self.filters.start)[self.number])
        launch.array("kind", np.asarray(self.filters.kind))
        launch.array("mask", np.asarray(self.filters.mask))
        launch.array("list_start", start).array("listed", listed)
        words = self._words(self.number)
        if self.described:
            launch.array("", None)
            if words is not None:
                launch.known("words", words)
        else:
            launch.array("words", words)

    def _words(self, number: int) -> Array | None:
        if self.filters is None:
            return None
        words = np.asarray(self.filters.words[number])
        return words if words.size else None
