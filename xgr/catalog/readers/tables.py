"""Arrays and columns: NumPy [N, D] and Parquet."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from xgr.catalog.catalogue import Catalogue
from xgr.catalog.labels import LabelKind
from xgr.catalog.readers.rows import Options, from_rows
from xgr.catalog.readers.titles import titles_of
from xgr.errors import CatalogueError

_CODE_COLUMNS: dict[str, LabelKind] = {"token_ids": "token_id", "sid": "code", "codes": "code"}


def read_npy(path: Path, options: Options) -> Catalogue:
    """Codes [N, D]; item ids from NAME.ids.npy beside NAME.npy, else the row numbers."""
    codes = _load_array(path)
    beside = path.with_name(f"{path.stem}.ids.npy")
    items = _load_ids(beside) if beside.exists() else None
    if items is not None and len(items) != len(codes):
        raise CatalogueError(f"{beside}: {len(items)} item ids for the {len(codes)} rows of {path}")
    titles = None
    if options.titles is not None:
        named = range(len(codes)) if items is None else items
        titles = titles_of(options.titles, list(named), None)
    return Catalogue.from_sids(codes, items, titles=titles, out=options.out, where=f"{path}: ")


def read_parquet(path: Path, options: Options) -> Catalogue:
    """Columns item_id (else the row numbers), title, and one of token_ids, sid, codes."""
    try:
        from pyarrow import parquet
    except ImportError:
        raise CatalogueError(
            f"{path}: reading Parquet needs pyarrow; run: pip install 'xgr[parquet]'"
        ) from None
    try:
        names = parquet.read_schema(path).names
        column = next((name for name in _CODE_COLUMNS if name in names), None)
        if column is None:
            raise CatalogueError(
                f"{path}: no column of codes, one of {', '.join(_CODE_COLUMNS)}; it has "
                f"{', '.join(names)}"
            )
        wanted = [name for name in ("item_id", "title", column) if name in names]
        table = parquet.read_table(path, columns=wanted)
    except (OSError, ValueError) as error:
        if isinstance(error, CatalogueError):
            raise
        raise CatalogueError(f"{path}: not readable as Parquet: {error}") from None
    rows = [_labels(path, row, sid) for row, sid in enumerate(table.column(column).to_pylist())]
    items = table.column("item_id").to_pylist() if "item_id" in wanted else range(len(rows))
    titles = table.column("title").to_pylist() if "title" in wanted else None
    kind = _CODE_COLUMNS[column]
    return from_rows(path, list(items), rows, options, int_kind=kind, titles=titles)


def _labels(path: Path, row: int, sid: Any) -> list[Any]:
    if isinstance(sid, str):
        return re.findall(r"<[^<>]*>", sid) or [sid]
    if not isinstance(sid, list):
        raise CatalogueError(f"{path}: row {row}: the SID is {sid!r}; a list of codes is expected")
    for label in sid:
        if not isinstance(label, (int, str)):
            raise CatalogueError(
                f"{path}: row {row}: code {label!r} is a {type(label).__name__}; integers or "
                "tokens are expected"
            )
    return sid


def _load_array(path: Path) -> npt.NDArray[Any]:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        if "pickle" in str(error) or "object" in str(error).lower():
            raise CatalogueError(
                f"{path}: holds pickled Python objects, which can run code when they are read; "
                "convert it where it was made: "
                "numpy.save('items.npy', numpy.asarray(sids.tolist(), dtype='int32'))"
            ) from None
        raise CatalogueError(f"{path}: not readable as a NumPy array: {error}") from None
    if not isinstance(array, np.ndarray):
        raise CatalogueError(f"{path}: is an archive of arrays; save one [N, D] array with np.save")
    return array


def _load_ids(path: Path) -> npt.NDArray[Any] | list[str]:
    ids = _load_array(path)
    if ids.ndim != 1 or ids.dtype.kind not in "iuU":
        raise CatalogueError(
            f"{path}: item ids are {ids.dtype} {list(ids.shape)}; N integers or texts are expected"
        )
    return ids if ids.dtype.kind in "iu" else [str(name) for name in ids]
