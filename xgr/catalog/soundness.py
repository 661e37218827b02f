"""Checks of arrays that were read from files: each would lead the search or a look-up astray."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from xgr.catalog.order import BLOCK
from xgr.catalog.search import Int32s
from xgr.catalog.trie import Trie
from xgr.errors import CatalogueError


def check(trie: Trie, sizes: Sequence[int], item_rank: Int32s) -> None:
    """Check the values of a trie whose lengths and ends fit, in one pass and in bounded memory.

    Args:
        trie: what was read.
        sizes: K_l of each level.
        item_rank: positions in the order in which item ids are looked up.

    Raises:
        CatalogueError: the array, the index and the value.
    """
    starts: Int32s = np.zeros(1, dtype=np.int32)
    for depth, (level, size) in enumerate(zip(trie.levels, sizes, strict=True)):
        _check_range(f"level{depth}.code", level.code, size)
        _check_siblings(f"level{depth}.code", level.code, starts)
        if level.first_child is not None:
            _check_ascending(f"level{depth}.first_child", level.first_child)
            starts = level.first_child[:-1]
    for depth, level in enumerate(trie.levels[:-2]):
        assert level.first_child is not None
        _check_leaves(f"level{depth}.leaves", level.bounds, level.first_child, trie, depth)
    _check_ascending("item_start", trie.item_start)
    _check_range("item_rank", item_rank, trie.num_items)


def _check_range(name: str, values: Int32s, size: int) -> None:
    for base in range(0, len(values), BLOCK):
        part = values[base : base + BLOCK]
        if int(part.min()) < 0 or int(part.max()) >= size:
            at = int(np.argmax((part < 0) | (part >= size)))
            raise _damaged(name, base + at, part[at], f"0 to {size - 1} are expected")


def _check_ascending(name: str, values: Int32s) -> None:
    for base in range(0, len(values), BLOCK):
        part = values[base : base + BLOCK + 1]
        wrong = np.flatnonzero(part[1:] <= part[:-1])
        if len(wrong):
            at = int(wrong[0]) + 1
            raise _damaged(name, base + at, part[at], f"more than {part[at - 1]} is expected")


def _check_siblings(name: str, code: Int32s, starts: Int32s) -> None:
    # Codes ascend, but where the children of the next parent begin.
    for base in range(0, len(code), BLOCK):
        part = code[base : base + BLOCK + 1]
        falls = np.flatnonzero(part[1:] <= part[:-1]) + base + 1
        at = np.searchsorted(starts, falls.astype(starts.dtype))
        wrong = np.flatnonzero(starts[np.minimum(at, len(starts) - 1)] != falls)
        if len(wrong):
            index = int(falls[wrong[0]])
            raise _damaged(name, index, code[index], f"more than {code[index - 1]} is expected")


def _check_leaves(name: str, bounds: Int32s, children: Int32s, trie: Trie, depth: int) -> None:
    below = trie.levels[depth + 1].bounds
    for base in range(0, len(bounds), BLOCK):
        part = bounds[base : base + BLOCK]
        need = below[children[base : base + BLOCK]]
        wrong = np.flatnonzero(part != need)
        if len(wrong):
            at = int(wrong[0])
            raise _damaged(name, base + at, part[at], f"{need[at]} is expected")


def _damaged(name: str, index: int, value: npt.NDArray[Any], need: str) -> CatalogueError:
    return CatalogueError(
        f"the saved catalogue is damaged: {name}.bin holds {value} at index {index}, {need}; "
        "copy or build it again"
    )
