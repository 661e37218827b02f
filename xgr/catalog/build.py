"""From SID rows to the arrays of the trie, in bounded memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from xgr.catalog.arrays import ArraySink, Sinks
from xgr.catalog.order import BLOCK, SIDs, lexicographic_order
from xgr.catalog.search import Bools, Int32s
from xgr.catalog.trie import Level, Trie
from xgr.errors import CatalogueError

MAX_DEPTH = 16
INT32_MAX = 2**31 - 1


@dataclass(frozen=True)
class Built:
    """The trie of some rows, and the row that each item position came from (int32 [N])."""

    trie: Trie
    rows: Int32s


def build_trie(sids: SIDs, sizes: tuple[int, ...], sinks: Sinks, block: int = BLOCK) -> Built:
    """Build the trie of checked rows; items of one SID keep the order of their rows.

    Args:
        sids: [N, D] codes that `check_codes` accepted.
        sizes: D level sizes, above every code.
        sinks: where the arrays grow: memory or files.
        block: rows handled at a time; bounds the temporaries.
    """
    rows = lexicographic_order(sids, sizes, block)
    writers = _LevelWriters(sids.shape[1], sinks)
    last = np.full((1, sids.shape[1]), -1, dtype=np.int64)
    for base in range(0, len(rows), block):
        part = sids[rows[base : base + block]]
        writers.append(part, _first_difference(part, last), base)
        last = part[-1:].astype(np.int64)
    return Built(writers.finish(len(rows)), rows)


def check_codes(sids: Any, where: str = "") -> SIDs:
    """Accept an [N, D] integer array of codes, or refuse it with the row and the reason.

    Args:
        sids: anything; only an array or nested sequence of integers passes.
        where: prefix for the message, such as "items.npy: ".

    Raises:
        CatalogueError: not two-dimensional, not integers, empty, D outside 1..16, a negative code,
            or a code above the int32 range.
    """
    array = _as_integers(sids, where)
    count, depth = array.shape
    if not 1 <= depth <= MAX_DEPTH:
        raise CatalogueError(f"{where}SIDs have {depth} levels; 1 to {MAX_DEPTH} are allowed")
    if not count:
        raise CatalogueError(f"{where}the catalogue is empty; give at least one item")
    if count > INT32_MAX:
        raise CatalogueError(f"{where}{count} items; at most {INT32_MAX} are allowed")
    if int(array.min()) < 0:
        row, level = _first(array, lambda block: block < 0)
        raise CatalogueError(
            f"{where}row {row}: code {array[row, level]} of level {level} is negative; "
            "codes count from 0, and short SIDs need an explicit last code (pad_code)"
        )
    if int(array.max()) > INT32_MAX - 1:
        row, level = _first(array, lambda block: block > INT32_MAX - 1)
        raise CatalogueError(
            f"{where}row {row}: code {array[row, level]} of level {level} is out of range; "
            f"at most {INT32_MAX - 1} is allowed"
        )
    return array


class _LevelWriters:
    # first_child of a level and the leaf bounds are written where a node begins, from the number
    # of deeper nodes that begin there: one pass, no lookup back into what is already written.
    def __init__(self, depth: int, sinks: Sinks) -> None:
        self.depth = depth
        self.code = [sinks.open(f"level{level}.code") for level in range(depth)]
        self.first_child = [sinks.open(f"level{level}.first_child") for level in range(depth - 1)]
        # The level above the last has its leaf bounds in first_child already.
        self.bounds = [sinks.open(f"level{level}.leaves") for level in range(depth - 2)]
        self.item_start = sinks.open("item_start")

    def append(self, part: SIDs, new: list[Bools], base: int) -> None:
        begun = [sink.length for sink in self.code]
        last = self.depth - 1
        starts = [np.flatnonzero(flags) for flags in new]
        for level, rows in enumerate(starts):
            self.code[level].append(part[rows, level].astype(np.int32))
            if level < last:
                _append_ranks(self.first_child[level], begun[level + 1], starts[level + 1], rows)
            if level < last - 1:
                _append_ranks(self.bounds[level], begun[last], starts[last], rows)
        self.item_start.append((starts[last] + base).astype(np.int32))

    def finish(self, num_items: int) -> Trie:
        sizes = [sink.length for sink in self.code]
        for level, sink in enumerate(self.first_child):
            sink.append(np.asarray([sizes[level + 1]], dtype=np.int32))
        for sink in self.bounds:
            sink.append(np.asarray([sizes[-1]], dtype=np.int32))
        self.item_start.append(np.asarray([num_items], dtype=np.int32))
        return assemble(
            [sink.finish() for sink in self.code],
            [sink.finish() for sink in self.first_child],
            [sink.finish() for sink in self.bounds],
            self.item_start.finish(),
        )


def assemble(
    code: list[Int32s], first_child: list[Int32s], bounds: list[Int32s], item_start: Int32s
) -> Trie:
    """Put arrays together: D of code, D-1 of first_child, D-2 of leaf bounds (trie.Level)."""
    depth = len(code)
    levels = []
    for level in range(depth):
        children = first_child[level] if level < depth - 1 else None
        leaves = bounds[level] if level < depth - 2 else children
        levels.append(Level(code[level], children, leaves))
    return Trie(tuple(levels), item_start)


def _append_ranks(sink: ArraySink, base: int, deeper: npt.NDArray[np.intp], rows: Any) -> None:
    sink.append((np.searchsorted(deeper, rows) + base).astype(np.int32))


def _first_difference(part: SIDs, last: npt.NDArray[np.int64]) -> list[Bools]:
    # Row i begins a node of level l when it differs from the row before in levels 0..l.
    flags = []
    new = np.zeros(len(part), dtype=np.bool_)
    for level in range(part.shape[1]):
        column = part[:, level]
        new[1:] |= column[1:] != column[:-1]
        new[0] |= int(column[0]) != int(last[0, level])
        flags.append(new.copy())
    return flags


def _as_integers(sids: Any, where: str) -> SIDs:
    try:
        array = np.asarray(sids)
    except (ValueError, OverflowError, TypeError):
        raise CatalogueError(f"{where}{_ragged(sids)}") from None
    if array.dtype == np.object_:
        raise CatalogueError(
            f"{where}SIDs are Python objects ({_ragged(sids)}); give an integer array [N, D]"
        )
    if array.size == 0 and array.ndim <= 2:
        raise CatalogueError(f"{where}the catalogue is empty (shape {array.shape})")
    if array.dtype.kind not in "iu":  # NumPy counts durations as integers
        raise CatalogueError(
            f"{where}SIDs are {array.dtype}, not integers; convert them with .astype('int32')"
        )
    if array.ndim != 2:
        raise CatalogueError(
            f"{where}SIDs have shape {array.shape}; one row an item and one column a level, "
            "[N, D], is expected"
        )
    return array


def _ragged(sids: Any) -> str:
    depth = None
    for row, codes in enumerate(sids if isinstance(sids, (Sequence, np.ndarray)) else ()):
        length = len(codes) if hasattr(codes, "__len__") else 0
        depth = length if depth is None else depth
        if length != depth:
            return f"row {row} has {length} codes and row 0 has {depth}"
    return "rows do not form an integer array"


def _first(array: SIDs, wrong: Any) -> tuple[int, int]:
    for base in range(0, len(array), BLOCK):
        hits = np.argwhere(wrong(array[base : base + BLOCK]))
        if len(hits):
            return base + int(hits[0, 0]), int(hits[0, 1])
    raise AssertionError("a wrong code was counted but not found")
