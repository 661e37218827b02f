"""What every reader of rows ends with: labels to codes, titles by item, one catalogue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xgr.catalog.catalogue import Catalogue
from xgr.catalog.given import shown
from xgr.catalog.labels import Label, LabelKind, encode_rows, split_tokens
from xgr.catalog.readers.titles import titles_of
from xgr.errors import CatalogueError


@dataclass(frozen=True)
class Options:
    """How to build: see `read_catalogue`."""

    pad_code: str | None = None
    titles: Path | None = None
    out: Path | None = None


def sid_labels(sid: Any, where: str) -> list[Any]:
    """Labels of a SID given as one text of tokens, or as a list of labels not checked yet.

    Raises:
        CatalogueError: anything else, or a text with more in it than tokens.
    """
    labels = split_tokens(sid) if isinstance(sid, str) else sid
    if not isinstance(labels, list):
        raise CatalogueError(
            f'{where}: the SID is {shown(sid)}; a list of codes or a text such as "<a_1><b_2>" is '
            "expected"
        )
    return labels


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
