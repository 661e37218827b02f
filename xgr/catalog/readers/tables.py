"""Arrays and columns: NumPy [N, D] and Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from xgr.catalog.catalogue import Catalogue
from xgr.catalog.labels import LabelKind
from xgr.catalog.readers.rows import Options, from_rows, sid_labels
from xgr.catalog.readers.titles import titles_of
from xgr.errors import CatalogueError

IDS_SUFFIX = ".ids.npy"

_NPY = b"\x93NUMPY"
_CONVERSION = {
    "codes": "numpy.save('items.npy', numpy.asarray(sids.tolist(), dtype='int32'))",
    "ids": "numpy.save('items.ids.npy', numpy.asarray(ids.tolist(), dtype='int64'))",
}
_CODE_COLUMNS: dict[str, LabelKind] = {"token_ids": "token_id", "sid": "code", "codes": "code"}


def read_npy(path: Path, options: Options) -> Catalogue:
    """Codes [N, D]; item ids from NAME.ids.npy beside NAME.npy, else the row numbers."""
    codes = _load_array(path, "codes")
    beside = path.with_name(f"{path.stem}{IDS_SUFFIX}")
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
        from pyarrow import ArrowException, parquet
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
        columns = {name: table.column(name).to_pylist() for name in wanted}
    except CatalogueError:
        raise
    except (OSError, ValueError, LookupError, OverflowError, ArrowException) as error:
        raise CatalogueError(f"{path}: not readable as Parquet: {error}") from None
    rows = [sid_labels(sid, f"{path}: row {row}") for row, sid in enumerate(columns[column])]
    items = columns.get("item_id", list(range(len(rows))))
    kind = _CODE_COLUMNS[column]
    return from_rows(path, items, rows, options, int_kind=kind, titles=columns.get("title"))


def _load_array(path: Path, what: str) -> npt.NDArray[Any]:
    try:
        with path.open("rb") as file:
            start = file.read(len(_NPY))
        if start != _NPY:
            raise CatalogueError(f"{path}: {_not_npy(start, what)}")
        array: npt.NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
        return array
    except CatalogueError:
        raise
    except Exception as error:  # a header is an expression in Python: many kinds of error follow
        if "Python objects" in str(error):
            raise CatalogueError(f"{path}: {_pickled(what)}") from None
        raise CatalogueError(f"{path}: not readable as a NumPy array: {error}") from None


def _not_npy(start: bytes, what: str) -> str:
    if start.startswith(b"PK"):
        return "is an archive, as np.savez writes; save one array with np.save"
    if start.startswith(b"\x80"):
        return _pickled(what)
    return f"not readable as a NumPy array: it starts with {start!r}, not with {_NPY!r}"


def _pickled(what: str) -> str:
    return (
        "holds pickled Python objects, which can run code when they are read; convert it where it "
        f"was made: {_CONVERSION[what]}"
    )


def _load_ids(path: Path) -> npt.NDArray[Any] | list[str]:
    ids = _load_array(path, "ids")
    if ids.ndim != 1 or ids.dtype.kind not in "iuU":
        raise CatalogueError(
            f"{path}: item ids are {ids.dtype} {list(ids.shape)}; N integers or texts are expected"
        )
    if ids.dtype.kind in "iu":
        return ids
    try:
        return [str(name) for name in ids]
    except (ValueError, SystemError) as error:  # words that are no characters
        raise CatalogueError(f"{path}: item ids are not texts: {error}") from None
