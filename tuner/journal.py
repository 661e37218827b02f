"""The measured rows of an op in a file, whose first line says of what device, op and kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xgr.errors import InputError
from xgr.ops.spec import Problem
from xgr.tuner.rows import Head, Rows, read_rows


@dataclass(frozen=True, slots=True)
class Row:
    """The candidates of a problem, measured once.

    Attributes:
        at: number of the problem in the sample.
        second: it is the second, independent measurement.
        problem: what was bound.
        own: the candidate that is chosen without a table.
        us: microseconds by candidate, in the order of the space.
        failed: why others have none.
    """

    at: int
    second: bool
    problem: Problem
    own: str
    us: Mapping[str, float]
    failed: Mapping[str, str]


class Journal(Rows[Row]):
    """The rows of an op.

    Args:
        path: the file; made when absent.
        identity: what rows must have in common, JSON.
        facts: of this run, kept with the identity of a new file.

    Raises:
        InputError: the file is of another device, op or kernels, or is no journal.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        super().__init__(path, identity, facts, _row)

    def add(self, row: Row) -> None:
        """Append a row."""
        line = {
            "at": row.at,
            "second": row.second,
            "axes": row.problem.sizes,
            "flags": dict(row.problem.flags),
            "own": row.own,
            "us": dict(row.us),
            "failed": dict(row.failed),
        }
        self.append(row, line)


def read(path: Path) -> tuple[Head, list[Row], int]:
    """Head and rows of a file, and how many of its bytes are whole lines.

    Raises:
        InputError: it is no journal, with the line.
    """
    head, rows, whole = read_rows(path, _row)
    if not {"op", "dtype"} <= head.keys():
        raise InputError(f"{path} line 1 names no op and dtype: it is no journal of an op")
    return head, rows, whole


def _row(head: Head, raw: Any) -> Row:
    problem = Problem.of(str(head["op"]), str(head["dtype"]), raw["flags"], **raw["axes"])
    times = {str(name): float(us) for name, us in raw["us"].items()}
    return Row(raw["at"], raw["second"], problem, raw["own"], times, raw.get("failed", {}))
