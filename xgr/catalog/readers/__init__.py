"""Readers of catalogue files: `read_catalogue` and the formats it knows."""

from __future__ import annotations

import os
from pathlib import Path

from xgr.catalog.catalogue import Catalogue
from xgr.catalog.readers import info, json_maps, jsonl, tables
from xgr.catalog.readers.detect import FORMATS, detect
from xgr.catalog.readers.rows import Options
from xgr.errors import CatalogueError, InputError

__all__ = ["FORMATS", "read_catalogue"]

_READERS = {
    "index-json": json_maps.read_index,
    "id2sid": json_maps.read_index,
    "sid2pid": json_maps.read_sid2pid,
    "info-txt": info.read_info,
    "jsonl": jsonl.read_jsonl,
    "parquet": tables.read_parquet,
    "npy": tables.read_npy,
}


def read_catalogue(
    path: str | os.PathLike[str],
    *,
    format: str = "auto",
    pad_code: str | None = None,
    titles: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    verify: bool = False,
) -> Catalogue:
    """Read a catalogue file of any known format, or open a saved catalogue.

    Args:
        path: a file, or a folder that `Catalogue.save` wrote.
        format: "auto" (by name, then by content), or one of
            "index-json": {item: ["<a_1>", "<b_2>", ...]}, as LC-Rec and MiniOneRec write;
            "id2sid": the same, as MIMIGenRec writes it;
            "info-txt": lines of SID, title, item id between tabs (MiniOneRec);
            "sid2pid": {a*8192^2 + b*8192 + c: pids} (OpenOneRec), a pid, a list of pids, or a
            list of {"pid" or "iid": ..., "count": ...} in the order to return them;
            "jsonl": one {"item_id", "token_ids" or "sid", "metadata"?} a line;
            "parquet": columns item_id?, title?, and one of token_ids, sid, codes;
            "npy": integers [N, D]; item ids in NAME.ids.npy beside NAME.npy, else row numbers;
            "saved": a saved catalogue.
        pad_code: name of an explicit last code that fills SIDs shorter than the longest; without
            it they are refused.
        titles: an info-txt file with the titles of the same items.
        out: folder to save into while building (see `Catalogue.from_sids`).
        verify: read and check every array of a saved catalogue; other files always are.

    Raises:
        CatalogueError: with the file, the row and the reason.
        InputError: an unknown format.
    """
    source = Path(path)
    if not source.exists():
        raise CatalogueError(f"{source} does not exist")
    if format not in ("auto", *FORMATS):
        raise InputError(f"unknown catalogue format {format!r}; known: auto, {', '.join(FORMATS)}")
    chosen = detect(source) if format == "auto" else format
    if chosen == "saved":
        return _open_saved(source, pad_code, titles, out, verify)
    if source.is_dir():
        raise CatalogueError(f"{source} is a folder; format {chosen} is a file")
    title_file = None if titles is None else Path(titles)
    return _READERS[chosen](
        source, Options(pad_code, title_file, None if out is None else Path(out))
    )


def _open_saved(
    source: Path,
    pad_code: str | None,
    titles: str | os.PathLike[str] | None,
    out: str | os.PathLike[str] | None,
    verify: bool,
) -> Catalogue:
    if pad_code is not None or titles is not None:
        raise InputError(
            f"{source} is a saved catalogue: pad_code and titles act when one is built"
        )
    catalogue = Catalogue.load(source, verify=verify)
    if out is None:
        return catalogue
    catalogue.save(out)
    return Catalogue.load(out)
