"""Stable lexicographic order of SID rows in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from xgr.catalog.search import Int32s, Int64s

SIDs = npt.NDArray[np.integer[Any]]

# Rows that are packed, sorted or scattered at a time; bounds every temporary of the build.
BLOCK = 1 << 22
WORD_BITS = 64


def lexicographic_order(sids: SIDs, sizes: tuple[int, ...], block: int = BLOCK) -> Int32s:
    """Row numbers in lexicographic order of the rows; equal rows keep their order.

    Rows are first scattered by their first code, then runs of first codes of about `block` rows
    are sorted as 64-bit words of (codes, place): the place makes the sort stable and is the
    result, and NumPy sorts words several times faster than it sorts indices.

    Args:
        sids: [N, D] codes, N < 2^31, each at least 0 and below its level's size.
        sizes: D level sizes.
        block: rows sorted at a time.

    Returns:
        int32 [N].
    """
    order, starts = _by_first_code(sids[:, 0], sizes[0], block)
    for low, high in _runs(starts, block):
        rows = order[low:high]
        order[low:high] = rows[_stable_sort(sids, rows, block)]
    return order


def _by_first_code(column: SIDs, size: int, block: int) -> tuple[Int32s, Int64s]:
    # A counting sort: argsort of the whole column would take 16 bytes a row.
    count = len(column)
    if count <= block:
        return np.arange(count, dtype=np.int32), np.asarray([0, count], dtype=np.int64)
    narrow = np.uint16 if size <= 1 << 16 else np.int32
    values, totals = _histogram(column, narrow, block)
    starts = np.concatenate(([0], np.cumsum(totals)))
    free = starts[:-1].copy()
    order = np.empty(count, dtype=np.int32)
    for base in range(0, count, block):
        codes = column[base : base + block].astype(narrow)
        rows = np.argsort(codes, kind="stable")
        present, first, counts = np.unique(codes[rows], return_index=True, return_counts=True)
        slots = np.searchsorted(values, present)
        order[np.repeat(free[slots] - first, counts) + np.arange(len(rows))] = rows + base
        free[slots] += counts
    return order, starts


def _histogram(column: SIDs, narrow: Any, block: int) -> tuple[npt.NDArray[Any], Int64s]:
    parts = [
        np.unique(column[base : base + block].astype(narrow), return_counts=True)
        for base in range(0, len(column), block)
    ]
    values, inverse = np.unique(np.concatenate([part[0] for part in parts]), return_inverse=True)
    totals = np.zeros(len(values), dtype=np.int64)
    np.add.at(totals, inverse, np.concatenate([part[1] for part in parts]))
    return values, totals


def _runs(starts: Int64s, block: int) -> Iterator[tuple[int, int]]:
    low = 0
    end = int(starts[-1])
    while low < end:
        # At least one first code, and as many whole ones as fit in a block.
        index = int(np.searchsorted(starts, low + block, side="right")) - 1
        high = int(starts[index])
        if high <= low:
            high = int(starts[np.searchsorted(starts, low, side="right")])
        yield low, high
        low = high


def _stable_sort(sids: SIDs, rows: Int32s, block: int) -> Int64s:
    place_bits = (len(rows) - 1).bit_length()
    picked = [sids[rows[base : base + block]] for base in range(0, len(rows), block)]
    lows = np.min([part.min(axis=0) for part in picked], axis=0)
    highs = np.max([part.max(axis=0) for part in picked], axis=0)
    bits = [int(high - low).bit_length() for low, high in zip(lows, highs, strict=True)]
    if sum(bits) + place_bits > WORD_BITS:
        whole = np.concatenate(picked)
        return np.asarray(np.lexsort(whole.T[::-1]), dtype=np.int64)
    words = np.zeros(len(rows), dtype=np.uint64)
    base = 0
    for index, part in enumerate(picked):
        view = words[base : base + len(part)]
        for level, width in enumerate(bits):
            view <<= np.uint64(width)
            view |= (part[:, level] - lows[level]).astype(np.uint64)
        base += len(part)
        picked[index] = part[:0]  # free it: a run of one first code can be the whole catalogue
    words <<= np.uint64(place_bits)
    words |= np.arange(len(rows), dtype=np.uint64)
    words.sort()
    words &= np.uint64((1 << place_bits) - 1)
    return words.view(np.int64)
