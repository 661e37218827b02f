"""Lines of SID, title and item id between tabs, and the titles they give to items."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from xgr.catalog.given import shown
from xgr.catalog.labels import Label, split_tokens
from xgr.errors import CatalogueError


def titles_of(
    path: Path, item_ids: Sequence[Any], rows: Sequence[Sequence[Label]] | None
) -> list[str | None]:
    """Titles of items from an info-txt file, None for those it lacks.

    Raises:
        CatalogueError: the file gives an item another SID, or no item is in it: a wrong file.
    """
    by_item: dict[str | None, tuple[list[str], str | None]] = {
        item: (sid, title) for sid, title, item in read_lines(path)
    }
    titles: list[str | None] = []
    for row, item in enumerate(item_ids):
        sid, title = by_item.get(_name(item), ([], None))
        given = rows[row] if rows is not None else ()
        if title is not None and _are_tokens(given) and sid != list(given):
            raise CatalogueError(
                f"{path}: item {shown(item)} has the SID {''.join(sid)}, but "
                f"{''.join(map(str, given))} in the catalogue; "
                "the two files are of different versions"
            )
        titles.append(title)
    if not any(titles):
        raise CatalogueError(f"{path}: has a title for none of the catalogue's items")
    return titles


def read_lines(path: Path) -> Iterator[tuple[list[str], str, str]]:
    """Tokens of the SID, title and item id of every line; a title may hold tabs itself.

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
        sid = split_tokens(fields[0])
        if len(fields) < 3 or sid is None or not fields[-1].strip():
            raise CatalogueError(
                f"{path}: line {number}: {shown(line)} is not SID, title and item id between tabs"
            )
        yield sid, "\t".join(fields[1:-1]).strip(), fields[-1].strip()


def _name(item: Any) -> str | None:
    # An id of another type, or too long to be written out, is refused where ids are stored.
    try:
        return str(item)
    except ValueError:
        return None


def _are_tokens(labels: Sequence[Label]) -> bool:
    return bool(labels) and isinstance(labels[0], str)
