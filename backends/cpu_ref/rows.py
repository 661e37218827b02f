"""Which rows of a batch are live, and how many are taken at a time."""

from __future__ import annotations

from xgr.backends.cpu_ref.arrays import Array


def block_rows(columns: int, elements: int) -> int:
    """Rows of a block of about so many elements, at least one."""
    return max(1, elements // max(columns, 1))


def live_rows(row_start: Array, live: Array) -> list[slice]:
    """The live rows of each request, in order."""
    starts = row_start.tolist()
    return [slice(lo, lo + n) for lo, n in zip(starts, live.tolist(), strict=False)]


def dead_rows(row_start: Array, live: Array, rows: int) -> list[slice]:
    """The rows of 0 .. rows - 1 that are not live: beside each request's, and of nobody."""
    starts = row_start.tolist()
    ends = [lo + n for lo, n in zip(starts, live.tolist(), strict=False)]
    return [
        slice(lo, hi) for lo, hi in zip([0, *ends], [*starts[:-1], rows], strict=True) if lo < hi
    ]
