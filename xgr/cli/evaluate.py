"""`xgr evaluate`: leave-one-out recall and NDCG of a checkpoint on real histories."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from xgr.bench import record
from xgr.cli import options
from xgr.engine.evaluate import evaluate as run
from xgr.engine.evaluate import read_histories
from xgr.errors import InputError


def evaluate(
    model: options.Model,
    catalog: options.CatalogPath,
    histories: Annotated[Path, typer.Option(help='{"user": [item ids in time order]}.')],
    users: Annotated[
        str | None, typer.Option(help="Slice of the users in file order, as A:B.")
    ] = None,
    beam_width: options.BeamWidth = "128",
    k: options.Items = 10,
    device: options.Device = "cpu",
    template: options.Template = None,
    max_items: options.MaxItems = None,
    normalize: options.Normalize = "vocab",
    kv_mode: options.KvMode = None,
    unconstrained: options.Unconstrained = False,
    exclude_history: options.ExcludeHistory = False,
    unknown: options.Unknown = "error",
    lanes: options.Lanes = None,
    json_path: Annotated[
        Path | None, typer.Option("--json", help="Write metrics and environment here.")
    ] = None,
    dump: Annotated[
        Path | None, typer.Option(help="Write every user's SIDs, scores and items here.")
    ] = None,
) -> None:
    """Measure leave-one-out recall, NDCG, invalid rate and users/s.

    The last item of each history is the target, the items before it make the prompt. Users that
    cannot be served are counted and named; exit code 1 when none could be.
    """
    width = options.width(beam_width)
    for path in filter(None, (json_path, dump)):
        record.check_writable(path)
    everyone = read_histories(histories)
    begin, end = _slice(users, len(everyone))
    chosen = dict(islice(everyone.items(), begin, end))
    recommender = options.load(
        model,
        catalog,
        device,
        template=template,
        max_items=max_items,
        normalize=normalize,
        kv_mode=kv_mode,
        unconstrained=unconstrained,
        lanes=lanes,
    )
    console = Console(stderr=True)
    with Progress(console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task("users", total=sum(len(items) > 1 for items in chosen.values()))
        result = run(
            recommender,
            chosen,
            k=k,
            beam_width=width,
            exclude_history=exclude_history,
            unknown=unknown,
            keep_rows=dump is not None,
            progress=lambda done: bar.advance(task, done),
        )
    metrics = result.metrics()
    for name, value in metrics.items():
        typer.echo(f"{name:>14}  {value if isinstance(value, int) else f'{value:.6g}'}")
    for user, error in result.failures.items():
        typer.echo(f"user {user!r} failed: {error}", err=True)
    if result.failed > len(result.failures):
        typer.echo(f"and {result.failed - len(result.failures)} more users", err=True)
    if json_path is not None:
        settings = {
            "beam_width": width,
            "normalize": normalize,
            "constrained": not unconstrained,
            "max_items": max_items,
            "unknown": unknown,
            "users": f"{begin}:{end}",
            "catalogue_version": recommender.store.current.version,
        }
        results = metrics | ({"failures": result.failures} if result.failures else {})
        record.write(json_path, "evaluate", results, settings=settings)
    if dump is not None:
        record.write_text(dump, json.dumps({"rows": result.rows}))
    if not result.users:
        raise typer.Exit(1)


def _slice(text: str | None, count: int) -> tuple[int, int]:
    if text is None:
        return 0, count
    begin, colon, end = text.partition(":")
    try:
        if not colon:
            raise ValueError
        low, high = int(begin or 0), int(end or count)
    except ValueError:
        raise InputError(f"--users is {text!r}, need A:B, as in 0:1000") from None
    if not 0 <= low < high or low >= count:
        raise InputError(f"--users {text} is empty: the file has {count} users")
    return low, min(high, count)
