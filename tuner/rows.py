"""A file of JSON lines that rows are appended to as they come, so that a run goes on where it was.

The first line says what the rows have in common; a file of others is refused. A last line that was
cut off is dropped.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

from xgr.errors import InputError

R = TypeVar("R")
Head = dict[str, Any]
# the row of a line, given the file's first line too; raises KeyError and its like on another
Parse = Callable[[Head, Any], R]


class Rows(Generic[R]):
    """Rows in a file.

    Args:
        path: the file; made when absent.
        identity: what rows must have in common, JSON.
        facts: of this run, kept with the identity of a new file.
        parse: makes a row of a line.

    Attributes:
        head: the file's first line.
        rows: what it holds.

    Raises:
        InputError: the file's rows have something else in common, it holds none, or it cannot be
            read or written.
    """

    def __init__(
        self, path: Path, identity: Mapping[str, Any], facts: Mapping[str, Any], parse: Parse[R]
    ) -> None:
        self._path = path
        self.head: Head = {**identity, **facts}
        self.rows: list[R] = []
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8") as file:
                if file.tell() == 0:
                    file.write(json.dumps(self.head) + "\n")
                    return
        except OSError as error:
            why = error.strerror or error
            raise InputError(f"{path} cannot be written: {why}; give another --out") from error
        self.head, self.rows, whole = read_rows(path, parse)
        for name, value in identity.items():
            if self.head.get(name) != value:
                raise InputError(
                    f"{path} holds rows of {name} {self.head.get(name)!r}, now {value!r}: "
                    "remove it or give another --out"
                )
        with path.open("r+b") as file:
            file.truncate(whole)

    def append(self, row: R, line: Mapping[str, Any]) -> None:
        """Add a row, which `parse` makes of a line."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        self.rows.append(row)


def read_rows(path: Path, parse: Parse[R]) -> tuple[Head, list[R], int]:
    """Head and rows of a file, and how many of its bytes are whole lines.

    Raises:
        InputError: the file cannot be read, or a line is no row, with its number.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        why = error.strerror or error
        raise InputError(f"{path} cannot be read: {why}; `xgr tune` writes such files") from error
    whole = data.rfind(b"\n") + 1
    lines = data[:whole].splitlines()
    number, rows = 1, list[R]()
    try:
        head: Head = dict(json.loads(lines[0]))
        for line in lines[1:]:
            number += 1
            rows.append(parse(head, json.loads(line)))
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise InputError(f"{path} line {number} holds no measured row: {error!r}") from None
    return head, rows, whole
