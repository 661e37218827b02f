"""What every reader of rows ends with: labels to codes, titles by item, one catalogue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xgr.catalog.catalogue import Catalogue
from xgr.catalog.labels import Label, LabelKind, encode_rows
from xgr.errors import CatalogueError


@dataclass(frozen=True)
class Options:
    """How to build: see `read_catalogue`."""

    pad_code: str | None = None
    titles: Path | None = None
    out: Path | None = None


def from_rows(
    path: Path,
    item_ids: Sequence[Any],
    rows: Sequence[Sequence[Label]],
    options: Options,
    *,
    int_kind: LabelKind,
    titles: Sequence[str | None] | None = None,
) -> Catalogue:
    """A catalogue of one SID, as labels, an item."""
    where = f"{path}: "
    codes, labels = encode_rows(
        rows, item_ids, int_kind=int_kind, pad_code=options.pad_code, where=where
    )
    if options.titles is not None:
        titles = titles_of(options.titles, item_ids, rows)
    return Catalogue.from_sids(codes, item_ids, labels, titles=titles, out=options.out, where=where)


def titles_of(
    path: Path, item_ids: Sequence[Any], rows: Sequence[Sequence[Label]] | None
) -> list[str | None]:
    """Titles of items from an info-txt file, None for those it lacks.

    Raises:
        CatalogueError: the file gives an item another SID, or no item is in it: a wrong file.
    """
    from xgr.catalog.readers.info import read_lines

    by_item = {item: (sid, title) for sid, title, item in read_lines(path)}
    titles: list[str | None] = []
    for row, item in enumerate(item_ids):
        sid, title = by_item.get(str(item), ("", None))
        given = "".join(str(label) for label in rows[row]) if rows is not None else ""
        if title is not None and given.startswith("<") and sid != given:
            raise CatalogueError(
                f"{path}: item {item!r} has the SID {sid}, but {given} in the catalogue; "
                "the two files are of different versions"
            )
        titles.append(title)
    if not any(titles):
        raise CatalogueError(f"{path}: has a title for none of the catalogue's items")
    return titles
