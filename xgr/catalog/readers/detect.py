"""Which format a file has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from xgr.catalog.given import shown
from xgr.catalog.readers.json_maps import decode
from xgr.catalog.readers.tables import IDS_SUFFIX
from xgr.catalog.storage import MANIFEST
from xgr.errors import CatalogueError

FORMATS = ("index-json", "info-txt", "id2sid", "sid2pid", "jsonl", "parquet", "npy", "saved")

_BY_SUFFIX = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npy": "npy",
    ".txt": "info-txt",
    ".tsv": "info-txt",
}
_CONVERT = (
    "is a pickled file, which can run code when it is read; convert it where it was made, with "
    "numpy.save('items.npy', numpy.asarray(sids, dtype='int32'))"
)
_PICKLED = (".pkl", ".pickle", ".pt", ".pth")


def detect(path: Path) -> str:
    """Format of a file: by its name, and for .json by its first entry.

    Raises:
        CatalogueError: unknown, pickled or ambiguous; the message names the choices.
    """
    if path.is_dir():
        return "saved"
    suffix = path.suffix.lower()
    if suffix in _PICKLED:
        raise CatalogueError(f"{path} {_CONVERT}")
    if path.name.endswith(IDS_SUFFIX):
        raise CatalogueError(
            f"{path} has the name of item ids; give the codes, "
            f"{path.name.removesuffix(IDS_SUFFIX)}.npy, or format= (--format) npy"
        )
    if suffix in _BY_SUFFIX:
        return _BY_SUFFIX[suffix]
    if suffix == ".json":
        return _json_format(path)
    raise CatalogueError(
        f"{path}: the format of a {suffix or 'nameless'} file is unknown; pass format= (--format) "
        f"with one of {', '.join(FORMATS)}"
    )


def _json_format(path: Path) -> str:
    name = path.name.lower()
    if name == "id2sid.json":
        return "id2sid"
    if name.endswith(".index.json"):
        return "index-json"
    if name.startswith(("sid2pid", "sid2iid")):
        return "sid2pid"
    if name == MANIFEST:
        raise CatalogueError(f"{path} belongs to a saved catalogue; give its folder, {path.parent}")
    key, value = next(iter(decode(path).items()))
    fits = _formats_of(key, value[0] if isinstance(value, list) and value else value)
    if len(fits) != 1:
        number = "more than one format" if fits else "no format"
        raise CatalogueError(
            f"{path}: its first entry, {shown(key)}: {shown(value)}, fits {number}; pass "
            'format= (--format): "index-json" if the key is an item and the value its codes, '
            '"sid2pid" if the key is a packed SID and the value its items'
        )
    return fits[0]


def _formats_of(key: str, first: Any) -> list[str]:
    # `first` is the first code of an item, or the first item of a SID.
    if isinstance(first, str) and first.startswith("<"):
        return ["index-json"]
    if not key.isdecimal():
        return ["index-json"] if isinstance(first, int) else []
    if isinstance(first, dict):
        return ["sid2pid"]
    return ["index-json", "sid2pid"] if isinstance(first, (int, str)) else []
