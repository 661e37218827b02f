"""JSON lines: {"item_id": ..., "token_ids": [...] or "sid": [...], "metadata"?: {"title"?}}."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from xgr.catalog.catalogue import Catalogue
from xgr.catalog.given import load_json, shown
from xgr.catalog.labels import LabelKind
from xgr.catalog.readers.rows import Options, from_rows, sid_labels
from xgr.errors import CatalogueError


class Line(msgspec.Struct):
    """One item; other fields are left alone."""

    item_id: int | str
    token_ids: list[int] | None = None
    sid: list[Any] | str | None = None
    metadata: dict[str, Any] | None = None


def read_jsonl(path: Path, options: Options) -> Catalogue:
    """One item a line; `sid` wins over `token_ids` where every line has it.

    Integers in `token_ids` are a tokenizer's ids, integers in `sid` are codes.
    """
    lines = _lines(path)
    spelled = lines[0].sid is not None
    kind: LabelKind = "code" if spelled else "token_id"
    rows: list[list[Any]] = []
    for row, line in enumerate(lines):
        where = f"{path}: row {row} (item {shown(line.item_id)})"
        labels = sid_labels(line.sid, where) if spelled and line.sid is not None else None
        if not spelled:
            labels = line.token_ids
        if labels is None:
            name = "sid" if spelled else "token_ids"
            raise CatalogueError(
                f"{where}: no {name!r}, which the first line has"
                if row
                else f"{where}: neither 'token_ids' nor 'sid'"
            )
        rows.append(labels)
    titles = [(line.metadata or {}).get("title") for line in lines]
    items = [line.item_id for line in lines]
    return from_rows(path, items, rows, options, int_kind=kind, titles=titles)


def _lines(path: Path) -> list[Line]:
    decoder = msgspec.json.Decoder(Line)
    lines = []
    try:
        with path.open("rb") as file:
            for number, text in enumerate(file, start=1):
                if text.strip():
                    decode = partial(decoder.decode, text)
                    lines.append(load_json(f"{path}: line {number}", decode))
    except OSError as error:
        raise CatalogueError(f"{path}: not readable: {error}") from None
    if not lines:
        raise CatalogueError(f"{path}: the catalogue is empty")
    return lines
