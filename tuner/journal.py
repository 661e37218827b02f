"""Measured rows in a file of JSON lines, appended as they come, so that a run goes on where it was.

The first line says of what device, op and kernels the rows are; a file of others is refused. A last
line that was cut off is dropped.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xgr.errors import InputError
from xgr.ops.spec import Problem


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


class Journal:
    """The rows of an op.

    Args:
        path: the file; made when absent.
        identity: what rows must have in common, JSON.
        facts: of this run, kept with the identity of a new file.

    Attributes:
        rows: what it holds.

    Raises:
        InputError: the file is of another device, op or kernels, or is no journal.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        self._path = path
        self.rows: list[Row] = []
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file() and path.stat().st_size:
            head, self.rows, whole = read(path)
            for name, value in identity.items():
                if head.get(name) != value:
                    raise InputError(
                        f"{path} holds rows of {name} {head.get(name)!r}, now {value!r}: "
                        "remove it or give another --out"
                    )
            with path.open("r+b") as file:
                file.truncate(whole)
        else:
            path.write_text(json.dumps({**identity, **facts}) + "\n", encoding="utf-8")

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
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        self.rows.append(row)


def read(path: Path) -> tuple[dict[str, Any], list[Row], int]:
    """Head and rows of a file, and how many of its bytes are whole lines.

    Raises:
        InputError: it is no journal, with the line.
    """
    data = path.read_bytes()
    whole = data.rfind(b"\n") + 1
    lines = data[:whole].splitlines()
    number = 1
    try:
        head = json.loads(lines[0])
        op, dtype = str(head["op"]), str(head["dtype"])
        rows = []
        for line in lines[1:]:
            number += 1
            raw = json.loads(line)
            problem = Problem.of(op, dtype, raw["flags"], **raw["axes"])
            times = {str(name): float(us) for name, us in raw["us"].items()}
            rows.append(
                Row(raw["at"], raw["second"], problem, raw["own"], times, raw.get("failed", {}))
            )
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise InputError(f"{path} line {number} holds no measured row: {error!r}") from None
    return head, rows, whole
