"""JSON objects: item -> SID tokens (index.json, id2sid.json) and packed SID -> items."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from xgr.catalog.catalogue import Catalogue
from xgr.catalog.given import load_json, shown
from xgr.catalog.readers.rows import Options, from_rows
from xgr.catalog.readers.titles import titles_of
from xgr.errors import CatalogueError

# OpenOneRec packs three codes of 13 bits into one integer.
PACKED_CODES = 8192
PACKED_LEVELS = 3
_PACKED = re.compile(r"[0-9]{1,12}")


def read_index(path: Path, options: Options) -> Catalogue:
    """{item: [token, ...]}; integers instead of tokens are codes."""
    entries = decode(path)
    for row, (item, tokens) in enumerate(entries.items()):
        if not isinstance(tokens, list):
            raise CatalogueError(
                f"{path}: row {row} (item {shown(item)}): {shown(tokens)} is not a list of codes; "
                'a map of packed SIDs to items is format "sid2pid"'
            )
    return from_rows(path, list(entries), list(entries.values()), options, int_kind="code")


def read_sid2pid(path: Path, options: Options) -> Catalogue:
    """{packed SID: pid, [pid, ...] or [{"pid": pid, ...}, ...]}, items in the order given."""
    packed: list[int] = []
    items: list[int | str] = []
    for row, (key, value) in enumerate(decode(path).items()):
        sid = int(key) if _PACKED.fullmatch(key) else -1
        if not 0 <= sid < PACKED_CODES**PACKED_LEVELS:
            raise CatalogueError(
                f"{path}: row {row}: key {shown(key)} is not a packed SID, an integer "
                f"a*{PACKED_CODES}^2 + b*{PACKED_CODES} + c below {PACKED_CODES}^3"
            )
        found = _items_of(value, f"{path}: row {row} (SID {key})")
        items += found
        packed += [sid] * len(found)
    words = np.asarray(packed, dtype=np.int64)
    codes = np.stack(
        [words // PACKED_CODES**2, words // PACKED_CODES % PACKED_CODES, words % PACKED_CODES],
        axis=1,
    ).astype(np.int32)
    titles = None if options.titles is None else titles_of(options.titles, items, None)
    return Catalogue.from_sids(
        codes,
        items,
        level_sizes=[PACKED_CODES] * PACKED_LEVELS,
        titles=titles,
        out=options.out,
        where=f"{path}: ",
    )


def decode(path: Path) -> dict[str, Any]:
    """The object in a JSON file.

    Raises:
        CatalogueError: not JSON, not an object, empty, or a key that occurs twice.
    """
    entries = load_json(
        str(path),
        lambda: json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_unique),
    )
    if not isinstance(entries, dict):
        raise CatalogueError(f"{path}: holds a {type(entries).__name__}, not a JSON object")
    if not entries:
        raise CatalogueError(f"{path}: the catalogue is empty")
    return entries


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # JSON keeps the last of two equal keys without a word: an item would be lost.
    entries = dict(pairs)
    if len(entries) != len(pairs):
        seen: dict[str, int] = {}
        for row, (key, _) in enumerate(pairs):
            if seen.setdefault(key, row) != row:
                raise CatalogueError(
                    f"row {row}: key {shown(key)} was given before, in row {seen[key]}; "
                    "an item has one SID"
                )
    return entries


def _items_of(value: Any, where: str) -> list[int | str]:
    given = value if isinstance(value, list) else [value]
    items = []
    for entry in given:
        item = entry.get("pid", entry.get("iid")) if isinstance(entry, dict) else entry
        if not isinstance(item, (int, str)) or isinstance(item, bool):
            raise CatalogueError(
                f'{where}: {shown(entry)} is not a pid; an integer, a string or {{"pid": ...}} '
                "is expected"
            )
        items.append(item)
    if not items:
        raise CatalogueError(f"{where}: has no items")
    return items
