"""JSON lines: {"item_id": ..., "token_ids": [...] or "sid": [...], "metadata"?: {"title"?}}."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from xgr.catalog.catalogue import Catalogue
from xgr.catalog.labels import LabelKind
from xgr.catalog.readers.rows import Options, from_rows
from xgr.errors import CatalogueError


class Line(msgspec.Struct):
    """One item; other fields are left alone."""

    item_id: int | str
    token_ids: list[int] | None = None
    sid: list[int | str] | str | None = None
    metadata: dict[str, Any] | None = None


def read_jsonl(path: Path, options: Options) -> Catalogue:
    """One item a line; `sid` wins over `token_ids` where every line has it.

    Integers in `token_ids` are a tokenizer's ids, integers in `sid` are codes.
    """
    lines = _lines(path)
    spelled = lines[0].sid is not None
    kind: LabelKind = "code" if spelled else "token_id"
    rows: list[list[int | str]] = []
    for row, line in enumerate(lines):
        labels = _labels(line) if spelled else line.token_ids
        if labels is None:
            name = "sid" if spelled else "token_ids"
            raise CatalogueError(
                f"{path}: row {row} (item {line.item_id!r}): no {name!r}, which the first line has"
                if row
                else f"{path}: row 0 (item {line.item_id!r}): neither 'token_ids' nor 'sid'"
            )
        rows.append(list(labels))
    titles = [_title(line) for line in lines]
    items = [line.item_id for line in lines]
    return from_rows(path, items, rows, options, int_kind=kind, titles=titles)


def _lines(path: Path) -> list[Line]:
    decoder = msgspec.json.Decoder(Line)
    lines = []
    with path.open("rb") as file:
        for number, text in enumerate(file, start=1):
            if not text.strip():
                continue
            try:
                lines.append(decoder.decode(text))
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                raise CatalogueError(f"{path}: line {number}: {error}") from None
    if not lines:
        raise CatalogueError(f"{path}: the catalogue is empty")
    return lines


def _labels(line: Line) -> list[int | str] | None:
    if isinstance(line.sid, str):
        return list(re.findall(r"<[^<>]*>", line.sid)) or [line.sid]
    return line.sid


def _title(line: Line) -> str | None:
    title = (line.metadata or {}).get("title")
    return title if isinstance(title, str) else None
