"""info-txt: lines of SID, title and item id between tabs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from xgr.catalog.catalogue import Catalogue
from xgr.catalog.readers.rows import Options, from_rows
from xgr.errors import CatalogueError

_SID = re.compile(r"(?:<[^<>\s]+>)+")


def read_info(path: Path, options: Options) -> Catalogue:
    """A catalogue from an info-txt file, titles included."""
    lines = list(read_lines(path))
    rows = [re.findall(r"<[^<>]+>", sid) for sid, _, _ in lines]
    items = [item for _, _, item in lines]
    titles = [title for _, title, _ in lines]
    return from_rows(path, items, rows, options, int_kind="code", titles=titles)


def read_lines(path: Path) -> Iterator[tuple[str, str, str]]:
    """SID, title and item id of every line; a title may hold tabs itself.

    Raises:
        CatalogueError: with the line, counted from 1, that is not of this form.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CatalogueError(f"{path}: not a readable UTF-8 file: {error}") from None
    # Not splitlines(): titles may hold separators that Unicode counts as line ends.
    for number, line in enumerate(text.split("\n"), start=1):
        fields = line.rstrip("\r").split("\t")
        if fields == [""]:
            continue
        if len(fields) < 3 or not _SID.fullmatch(fields[0].strip()) or not fields[-1].strip():
            raise CatalogueError(
                f"{path}: line {number}: {line[:80]!r} is not SID, title and item id between tabs"
            )
        yield fields[0].strip(), "\t".join(fields[1:-1]).strip(), fields[-1].strip()
