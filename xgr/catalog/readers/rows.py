"""What every reader of rows ends with: labels to codes, titles by item, one catalogue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xgr.catalog.catalogue import Catalogue
from xgr.catalog.labels import Label, LabelKind, encode_rows
from xgr.catalog.readers.titles import titles_of


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
