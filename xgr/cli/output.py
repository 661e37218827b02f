"""Tables: drawn on a terminal, aligned text anywhere else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import typer
from rich.console import Console
from rich.table import Table


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows under their columns."""
    lines = [[str(cell) for cell in row] for row in rows]
    console = Console()
    if console.is_terminal:
        table = Table(*columns)
        for line in lines:
            table.add_row(*line)
        console.print(table)
        return
    lines = [list(columns), *lines]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    for line in lines:
        typer.echo("  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip())
