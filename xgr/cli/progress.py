"""What the tuner shows: a bar while it measures, tables when it has."""

from __future__ import annotations

import time

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from xgr.cli.output import print_table
from xgr.tuner.report import Lines


def print_lines(found: Lines) -> None:
    """Heading, table and remarks."""
    typer.echo(found.heading)
    print_table(found.columns, found.rows)
    for line in found.remarks:
        typer.echo(line)


class Bar:
    """A bar with the time that is left on a terminal, a line every ten seconds elsewhere."""

    def __init__(self, name: str) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
                   TextColumn("{task.fields[left]}"))  # fmt: skip
        self._name, self._console = name, Console(stderr=True)
        self._bar = Progress(*columns, console=self._console, disable=not self._console.is_terminal)
        self._task = self._bar.add_task(name, total=None, left="compiling")
        self._at = 0.0

    def __enter__(self) -> Bar:
        self._bar.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._bar.stop()

    def __call__(self, done: int, total: int, left: float) -> None:
        """Show how many rows there are, of how many, and about how many seconds are left."""
        shown = f"{left:.0f} s left"
        self._bar.update(self._task, completed=done, total=total, left=shown)
        if self._bar.disable and (time.monotonic() - self._at > 10 or done == total):
            self._at = time.monotonic()
            typer.echo(f"{self._name}: {done} of {total} rows, {shown}", err=True)
