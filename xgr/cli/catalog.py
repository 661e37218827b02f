"""`xgr catalog`: build a catalogue from a file, and look into one."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from xgr.catalog import FORMATS, read_catalogue
from xgr.catalog.describe import describe
from xgr.cli.output import print_table

app = typer.Typer(help="Build and inspect item catalogues.", no_args_is_help=True)

Format = Annotated[str, typer.Option(help=f"Format of the input: auto, {', '.join(FORMATS)}.")]
PadCode = Annotated[
    str | None,
    typer.Option(help="Explicit last code that fills SIDs shorter than the longest."),
]
Titles = Annotated[
    Path | None, typer.Option(help="Lines of SID, title, item id with the titles of the items.")
]


@app.command()
def build(
    source: Annotated[Path, typer.Argument(metavar="INPUT", help="Catalogue file.")],
    out: Annotated[Path, typer.Option(help="Folder to write; replaced when it is a catalogue.")],
    format: Format = "auto",
    pad_code: PadCode = None,
    titles: Titles = None,
) -> None:
    """Read a catalogue file, check it and save it as memory-mapped arrays."""
    start = time.perf_counter()
    catalogue = read_catalogue(source, format=format, pad_code=pad_code, titles=titles, out=out)
    seconds = time.perf_counter() - start
    typer.echo(
        f"{out}: {catalogue.num_items} items, {catalogue.num_sids} SIDs, depth {catalogue.depth}, "
        f"{catalogue.nbytes / catalogue.num_items:.1f} bytes an item, {seconds:.2f} s, "
        f"version {catalogue.version}"
    )


@app.command()
def inspect(
    path: Annotated[Path, typer.Argument(help="Saved catalogue, or a catalogue file.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    format: Format = "auto",
    pad_code: PadCode = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Read and check every array of a saved catalogue.")
    ] = False,
) -> None:
    """Print depth, levels, children, shared SIDs, version and size of a catalogue."""
    catalogue = read_catalogue(path, format=format, pad_code=pad_code, verify=verify)
    catalogue.check()
    facts = describe(catalogue)
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
        return
    shared = facts["shared_sids"].items()
    typer.echo(f"version      {facts['version']}")
    typer.echo(f"items        {facts['items']}")
    typer.echo(f"SIDs         {facts['sids']}")
    typer.echo(f"items a SID  {', '.join(f'{n}: {count}' for n, count in shared)}")
    typer.echo(f"depth        {facts['depth']}")
    typer.echo(f"labels       {facts['label_kind']}")
    typer.echo(f"titles       {'yes' if facts['titles'] else 'no'}")
    typer.echo(f"bytes        {facts['bytes']} ({facts['bytes_per_item']} an item)")
    _print_levels(facts["levels"])


def _print_levels(levels: list[dict[str, Any]]) -> None:
    columns = ("level", "codes", "used", "nodes", "children min", "mean", "max")
    rows = [
        (index, level["codes"], level["codes_used"], level["nodes"], *level["children"].values())
        for index, level in enumerate(levels)
    ]
    print_table(columns, rows)
