"""Saved catalogues: one raw little-endian file an array, and a small manifest."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from xgr.catalog.arrays import array_path, digest_of, map_array
from xgr.catalog.build import INT32_MAX, MAX_DEPTH, assemble
from xgr.catalog.given import load_json, shown
from xgr.catalog.items import IntegerIds, TextIds, Texts
from xgr.catalog.labels import Label, LabelKind, Labels, checked_labels, code_labels
from xgr.catalog.trie import Trie
from xgr.errors import CatalogueError

if TYPE_CHECKING:
    from xgr.catalog.catalogue import Catalogue

MANIFEST = "catalogue.json"
FORMAT = "xgr-catalogue"
SCHEMA = 1


class StoredArray(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One array file."""

    dtype: str
    length: int
    digest: str


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What catalogue.json holds; `labels` is absent where codes are their own labels."""

    format: str
    schema: int
    version: str
    depth: int
    num_items: int
    num_sids: int
    id_kind: Literal["integer", "text"]
    label_kind: LabelKind
    level_sizes: list[int]
    labels: list[list[Label]] | None
    arrays: dict[str, StoredArray]


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """A temporary folder beside `target` that takes its place when the block ends well.

    Raises:
        CatalogueError: `target` exists and is not a saved catalogue, or cannot be written.
    """
    try:
        with _replacing(target) as fresh:
            yield fresh
    except OSError as error:
        raise CatalogueError(
            f"{target} cannot be written: {error}; choose another folder"
        ) from None


@contextmanager
def _replacing(target: Path) -> Iterator[Path]:
    if target.exists() and not (target / MANIFEST).is_file() and not _is_empty_folder(target):
        raise CatalogueError(f"{target} exists and is not a saved catalogue; choose another folder")
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        yield fresh
        fresh.chmod(0o755)
        if target.exists():
            # Readers that have mapped the old files keep them until they let go.
            old = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
            os.replace(target, old / "old")
            try:
                os.replace(fresh, target)
            except BaseException:
                os.replace(old / "old", target)
                raise
            finally:
                shutil.rmtree(old, ignore_errors=True)
        else:
            os.replace(fresh, target)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise


def content_version(labels: Labels, digests: Mapping[str, str]) -> str:
    """Hexadecimal hash of the labels and of the digests of all arrays."""
    names: list[Any] = list(labels.sizes) if labels.kind == "code" else list(labels.levels)
    content = msgspec.json.encode([labels.kind, names, sorted(digests.items())])
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def write_manifest(folder: Path, catalogue: Catalogue) -> None:
    """Describe the arrays that lie in a folder already."""
    plain = catalogue.label_kind == "code"
    manifest = Manifest(
        format=FORMAT,
        schema=SCHEMA,
        version=catalogue.version,
        depth=catalogue.depth,
        num_items=catalogue.num_items,
        num_sids=catalogue.num_sids,
        id_kind=catalogue.ids.kind,
        label_kind=catalogue.label_kind,
        level_sizes=list(catalogue.level_sizes),
        labels=None if plain else [list(level) for level in catalogue.labels],
        arrays={
            name: StoredArray(array.dtype.name, len(array), catalogue.digests[name])
            for name, array in catalogue.arrays().items()
        },
    )
    (folder / MANIFEST).write_bytes(msgspec.json.encode(manifest))


def load(
    folder: Path, verify: bool
) -> tuple[Trie, Labels, IntegerIds | TextIds, Texts | None, dict[str, str]]:
    """The parts of a saved catalogue, memory-mapped.

    Raises:
        CatalogueError: with the file and the reason.
    """
    manifest = _read_manifest(folder)
    files = _Files(folder, manifest, verify)
    depth = manifest.depth
    trie = assemble(
        [files.array(f"level{level}.code", "int32") for level in range(depth)],
        [files.array(f"level{level}.first_child", "int32") for level in range(depth - 1)],
        [files.array(f"level{level}.leaves", "int32") for level in range(depth - 2)],
        files.array("item_start", "int32", manifest.num_sids + 1),
    )
    _check_shape(folder, manifest, trie)
    labels = _read_labels(folder / MANIFEST, manifest)
    titles = files.texts("titles", manifest.num_items) if "titles" in manifest.arrays else None
    ids = files.ids()
    digests = {name: stored.digest for name, stored in manifest.arrays.items()}
    if content_version(labels, digests) != manifest.version:
        raise CatalogueError(
            f"{folder / MANIFEST}: the version is not that of the content: one of them was edited; "
            "build the catalogue again"
        )
    return trie, labels, ids, titles, digests


class _Files:
    def __init__(self, folder: Path, manifest: Manifest, verify: bool) -> None:
        self.folder, self.manifest, self.verify = folder, manifest, verify

    def ids(self) -> IntegerIds | TextIds:
        count = self.manifest.num_items
        rank = self.array("item_rank", "int32", count)
        if self.manifest.id_kind == "integer":
            return IntegerIds(self.array("item_ids", ("int32", "int64"), count), rank)
        texts = self.texts("item_texts", count)
        return TextIds(texts, self.array("item_hashes", "uint64", count), rank)

    def texts(self, name: str, count: int) -> Texts:
        offsets = self.array(f"{name}.offsets", "int64", count + 1)
        return Texts(offsets, self.array(name, "uint8", int(offsets[-1])))

    def array(
        self, name: str, dtype: str | tuple[str, ...], length: int | None = None
    ) -> npt.NDArray[Any]:
        allowed = (dtype,) if isinstance(dtype, str) else dtype
        stored = self.manifest.arrays.get(name)
        path = array_path(self.folder, name)
        if stored is None:
            raise CatalogueError(f"{self.folder / MANIFEST}: array {name} is missing")
        if stored.dtype not in allowed:
            raise CatalogueError(
                f"{path}: dtype {shown(stored.dtype)} where {' or '.join(allowed)} is expected"
            )
        if length is not None and stored.length != length:
            raise CatalogueError(f"{path}: {stored.length} values where {length} are expected")
        need = stored.length * np.dtype(stored.dtype).itemsize
        have = path.stat().st_size if path.is_file() else None
        if have != need:
            got = "is missing" if have is None else f"has {have} bytes"
            raise CatalogueError(f"{path} {got}; {need} are expected: copy or build it again")
        try:
            array = map_array(path, np.dtype(stored.dtype), stored.length)
        except OSError as error:
            raise CatalogueError(f"{path} cannot be opened: {error}") from None
        if self.verify and digest_of(array) != stored.digest:
            raise CatalogueError(f"{path}: the content has changed since it was saved")
        return array


def _read_manifest(folder: Path) -> Manifest:
    path = folder / MANIFEST
    if not path.is_file():
        raise CatalogueError(
            f"{folder} is not a saved catalogue: it has no {MANIFEST}; "
            "`xgr catalog build INPUT --out DIR` makes one"
        )
    if sys.byteorder != "little":
        raise CatalogueError("saved catalogues are little-endian; this machine is not")
    header = load_json(
        str(path), lambda: msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    )
    # Format and schema first: another schema would fail on its unknown fields instead.
    if header.get("format") != FORMAT:
        raise CatalogueError(f"{path}: not the manifest of an xgr catalogue")
    if header.get("schema") != SCHEMA:
        raise CatalogueError(
            f"{path}: schema {shown(header.get('schema'))}; this version of xgr reads {SCHEMA}: "
            "build the catalogue again"
        )
    try:
        manifest = msgspec.convert(header, Manifest)
    except msgspec.MsgspecError as error:
        raise CatalogueError(f"{path}: {error}") from None
    if not 1 <= manifest.depth <= MAX_DEPTH:
        raise CatalogueError(f"{path}: depth {manifest.depth}; 1 to {MAX_DEPTH} are allowed")
    for name, count in (("items", manifest.num_items), ("SIDs", manifest.num_sids)):
        if not 1 <= count <= INT32_MAX:
            raise CatalogueError(f"{path}: {count} {name}; 1 to {INT32_MAX} are allowed")
    return manifest


def _read_labels(path: Path, manifest: Manifest) -> Labels:
    if not all(1 <= size <= INT32_MAX for size in manifest.level_sizes):
        raise CatalogueError(f"{path}: level_sizes are not all within 1 to {INT32_MAX}")
    if manifest.label_kind == "code":
        labels = code_labels(manifest.level_sizes)
    else:
        labels = checked_labels(manifest.labels or (), f"{path}: ")
    if labels.kind != manifest.label_kind:
        raise CatalogueError(
            f"{path}: the labels are of kind {labels.kind}, not {manifest.label_kind}"
        )
    if len(labels.levels) != manifest.depth or labels.sizes != tuple(manifest.level_sizes):
        raise CatalogueError(f"{path}: depth, labels and level_sizes do not agree")
    return labels


def _check_shape(folder: Path, manifest: Manifest, trie: Trie) -> None:
    # Only ends are read: a look at every value would read the whole files.
    ends = [(trie.item_start, manifest.num_items, "item_start")]
    for level, nodes in enumerate(trie.levels[:-1]):
        assert nodes.first_child is not None
        ends.append((nodes.first_child, len(trie.levels[level + 1]), f"level{level}.first_child"))
        ends.append((nodes.bounds, manifest.num_sids, f"level{level}.leaves"))
        if not len(nodes.first_child) == len(nodes.bounds) == len(nodes) + 1:
            raise CatalogueError(f"{folder}: the arrays of level {level} differ in length")
    if len(trie.levels[-1]) != manifest.num_sids:
        raise CatalogueError(
            f"{folder}: {len(trie.levels[-1])} nodes in the last level; one for each of the "
            f"{manifest.num_sids} SIDs is expected"
        )
    for array, end, name in ends:
        if not len(array) or int(array[0]) != 0 or int(array[-1]) != end:
            raise CatalogueError(f"{array_path(folder, name)}: does not run from 0 to {end}")


def _is_empty_folder(path: Path) -> bool:
    return path.is_dir() and not any(path.iterdir())
