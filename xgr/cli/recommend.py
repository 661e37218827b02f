"""`xgr recommend`: the next items of one user."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from xgr.cli import options, output
from xgr.errors import InputError


def recommend(
    model: options.Model,
    catalog: options.CatalogPath,
    history: Annotated[
        str | None, typer.Option(help="Item ids or SIDs in time order, comma separated.")
    ] = None,
    prompt: Annotated[str | None, typer.Option(help="The prompt as text instead.")] = None,
    beam_width: options.BeamWidth = "128",
    k: options.Items = 10,
    exclude: Annotated[str, typer.Option(help="Item ids that may not come out.")] = "",
    allow: Annotated[str | None, typer.Option(help="The only item ids that may come out.")] = None,
    per_sid: Annotated[int | None, typer.Option(help="Most items of one SID.")] = None,
    unknown: options.Unknown = "error",
    device: options.Device = "cpu",
    template: options.Template = None,
    max_items: options.MaxItems = None,
    normalize: options.Normalize = "vocab",
    kv_mode: options.KvMode = None,
    exclude_history: options.ExcludeHistory = False,
    as_json: options.JsonFlag = False,
) -> None:
    """Recommend the next items of one history."""
    if (history is None) == (prompt is None):
        raise InputError("give --history or --prompt, not both and not none")
    width = options.width(beam_width)
    recommender = options.load(
        model,
        catalog,
        device,
        template=template,
        max_items=max_items,
        normalize=normalize,
        kv_mode=kv_mode,
        lanes=1,
    )
    found = recommender.recommend(
        [_split(history)] if history is not None else None,
        k,
        width,
        prompts=[prompt] if prompt is not None else None,
        exclude=_split(exclude),
        allow=_split(allow) if allow is not None else None,
        per_sid=per_sid,
        unknown=unknown,
        exclude_history=exclude_history,
    )[0]
    if as_json:
        rows = [
            {
                "item_id": item.item_id,
                "score": item.score,
                "token_ids": list(item.token_ids),
                "level_scores": list(item.level_scores),
                "title": item.title,
            }
            for item in found
        ]
        head = {"normalize": found.normalize, "catalogue_version": found.catalogue_version}
        typer.echo(json.dumps({**head, "n_valid": found.n_valid, "items": rows}))
        return
    spell = recommender.speller.tokenizer.tokens
    output.print_table(
        ("rank", "item", "score", "SID", "title"),
        [
            (rank, one.item_id, f"{one.score:.4f}", "".join(spell(one.token_ids)), one.title or "")
            for rank, one in enumerate(found, 1)
        ],
    )


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
