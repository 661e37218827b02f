"""`xgr demo`: the main job on a model that comes with the package."""

from __future__ import annotations

import json
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated

import typer

from xgr.catalog import ItemId
from xgr.cli import options, output
from xgr.engine import Recommendations, Recommender
from xgr.engine.evaluate import Evaluation, evaluate, read_histories
from xgr.errors import InputError

_SHOWN = 8


def demo(
    user: Annotated[str | None, typer.Option(help="Customer to show; the first when none.")] = None,
    k: options.Items = 10,
    beam_width: options.BeamWidth = "32",
    as_json: options.JsonFlag = False,
) -> None:
    """Recommend to a customer of a fictional shop, and measure recall on all held-out ones.

    The model was trained on other customers of the same shop; the last item of each shown history
    is hidden from it.
    """
    with as_file(files("xgr.demo")) as folder:
        recommender = Recommender.from_pretrained(folder / "model", folder / "items.jsonl")
        histories = read_histories(folder / "histories.json")
        popular = _popular(folder / "popularity.json", k)
    name = user if user is not None else next(iter(histories))
    if name not in histories:
        known = f"{next(iter(histories))} .. {list(histories)[-1]}"
        raise InputError(f"customer {name!r} is not in the demo; it has {known}")
    items, target = histories[name][:-1], histories[name][-1]
    width = options.width(beam_width)
    found = recommender.recommend([items], k, width)[0]
    result = evaluate(recommender, histories, k=k, beam_width=width)
    baseline = sum(str(own[-1]) in popular for own in histories.values()) / len(histories)
    if as_json:
        typer.echo(json.dumps(_as_json(name, items, target, found, result, baseline)))
        return
    _print(recommender, name, items, target, found)
    typer.echo(
        f"Recall@{k} over {result.users} customers the model has never seen: "
        f"{result.hits / result.users:.3f} (most popular {k} items: {baseline:.3f}); "
        f"SIDs outside the catalogue: {result.invalid} of {result.beams}; "
        f"{result.users / result.seconds:.0f} customers/s"
    )


def _popular(path: Path, k: int) -> set[str]:
    counts: dict[str, int] = json.loads(path.read_text())
    return set(sorted(counts, key=lambda item: (-counts[item], item))[:k])


def _print(
    recommender: Recommender,
    name: str,
    items: list[ItemId],
    target: ItemId,
    found: Recommendations,
) -> None:
    catalogue = recommender.store.current

    def title(item: ItemId) -> str:
        return catalogue.title(catalogue.position(item)) or str(item)

    typer.echo(f"Customer {name} bought, oldest first:")
    if len(items) > _SHOWN:
        typer.echo(f"  ... {len(items) - _SHOWN} earlier items")
    for item in items[-_SHOWN:]:
        typer.echo(f"  {title(item)}")
    ranked = []
    for rank, one in enumerate(found, 1):
        mark = "bought next" if str(one.item_id) == str(target) else ""
        ranked.append((rank, one.title or one.item_id, f"{one.score:.3f}", mark))
    output.print_table(("rank", "recommended next", "score", ""), ranked)
    if not any(mark for *_, mark in ranked):
        typer.echo(f"Bought next, and not among these: {title(target)}")


def _as_json(
    name: str,
    items: list[ItemId],
    target: ItemId,
    found: Recommendations,
    result: Evaluation,
    baseline: float,
) -> dict[str, object]:
    return {
        "user": name,
        "history": items,
        "target": target,
        "recommended": [
            {"item_id": item.item_id, "title": item.title, "score": item.score} for item in found
        ],
        "metrics": result.metrics(),
        f"popularity_recall@{result.k}": baseline,
    }
