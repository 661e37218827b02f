"""info-txt: lines of SID, title and item id between tabs."""

from __future__ import annotations

from pathlib import Path

from xgr.catalog.catalogue import Catalogue
from xgr.catalog.readers.rows import Options, from_rows
from xgr.catalog.readers.titles import read_lines


def read_info(path: Path, options: Options) -> Catalogue:
    """A catalogue from an info-txt file, titles included."""
    lines = list(read_lines(path))
    rows = [sid for sid, _, _ in lines]
    items = [item for _, _, item in lines]
    titles = [title for _, title, _ in lines]
    return from_rows(path, items, rows, options, int_kind="code", titles=titles)
