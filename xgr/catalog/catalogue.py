"""The catalogue: every item of one version, its semantic ID, and what may be asked of both."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from xgr.catalog import expand, filters, rebase, soundness, storage
from xgr.catalog.arrays import Sinks
from xgr.catalog.build import INT32_MAX, build_trie, check_codes
from xgr.catalog.filters import NamedMask, RequestFilter
from xgr.catalog.given import is_unicode, shown
from xgr.catalog.items import IntegerIds, ItemId, TextIds, Texts, store_ids, store_texts
from xgr.catalog.labels import Label, LabelKind, Labels, checked_labels, code_labels
from xgr.catalog.search import Bools, Int32s, Int64s
from xgr.catalog.trie import Level, Trie
from xgr.errors import CatalogueError, InputError

Unknown = Literal["error", "skip"]


class Catalogue:
    """An immutable catalogue; build one with `read_catalogue`, `from_sids` or `load`.

    Items lie in *positions* 0..num_items-1, ordered by SID and, within one SID, as their file
    stated. A *leaf* is a distinct SID, numbered in lexicographic order of its codes.

    Attributes:
        trie: the levels and item ranges as arrays.
        ids: item ids by position and back.
    """

    def __init__(
        self,
        trie: Trie,
        labels: Labels,
        ids: IntegerIds | TextIds,
        titles: Texts | None,
        digests: Mapping[str, str],
        *,
        named: filters.NamedFilters | None = None,
        sound: bool = True,
    ) -> None:
        self.trie = trie
        self.ids = ids
        self.digests = dict(digests)
        self._labels = labels
        self._titles = titles
        self._named = filters.NamedFilters(trie) if named is None else named
        self._sound = sound

    @classmethod
    def from_sids(
        cls,
        sids: Any,
        item_ids: Any = None,
        labels: Sequence[Sequence[Label]] | Labels | None = None,
        *,
        level_sizes: Sequence[int] | None = None,
        titles: Sequence[str | None] | None = None,
        out: str | os.PathLike[str] | None = None,
        where: str = "",
    ) -> Catalogue:
        """Build a catalogue from rows of codes, in any order.

        Args:
            sids: [N, D] integers, codes within their levels, D <= 16; may be memory-mapped.
            item_ids: N distinct ids, integers or strings; the row numbers when None.
            labels: D sequences of labels in code order; the codes themselves when None.
            level_sizes: K_l where there are no labels; the largest code + 1 when None.
            titles: N titles; None or "" is no title.
            out: folder to save into as the arrays are made, for catalogues too large for memory;
                what is returned is then memory-mapped.
            where: prefix of error messages, such as "items.npy: ".

        Raises:
            CatalogueError: with the row and the reason.
        """
        codes = check_codes(sids, where)
        names = _labels_of(codes, labels, level_sizes, where)
        if titles is not None and len(titles) != len(codes):
            raise CatalogueError(f"{where}{len(titles)} titles for {len(codes)} SIDs")
        _check_titles(titles or (), where)
        if out is None:
            return cls._build(codes, names, item_ids, titles, Sinks(), where)[0]
        with storage.new_folder(Path(out)) as folder:
            built, _ = cls._build(codes, names, item_ids, titles, Sinks(folder), where)
            storage.write_manifest(folder, built)
        return cls.load(out)

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, verify: bool = False) -> Catalogue:
        """Open a saved catalogue; its arrays are memory-mapped, not read.

        Args:
            folder: what `save` or `from_sids(out=)` wrote.
            verify: also read every array, compare it with its digest and check its values.

        Raises:
            CatalogueError: not a catalogue, of another schema, truncated or (verify) changed.
        """
        loaded = cls(*storage.load(Path(folder), verify), sound=False)
        if verify:
            loaded.check()
        return loaded

    def check(self) -> None:
        """Read the arrays of the trie and the order of the item ids, and check their values.

        Once a catalogue; what was built here needs none. `rebase` and an upload to a device, which
        read the arrays anyway, do it for saved catalogues, whose files may have changed.

        Raises:
            CatalogueError: codes out of range or order, children or items that do not follow on.
        """
        if not self._sound:
            soundness.check(self.trie, self.level_sizes, self.ids.rank)
            self._sound = True

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write to a folder that is renamed into place when it is whole."""
        with storage.new_folder(Path(folder)) as fresh:
            sinks = Sinks(fresh)
            for name, array in self.arrays().items():
                sinks.put(name, array)
            storage.write_manifest(fresh, self)

    @property
    def depth(self) -> int:
        """D, the number of levels."""
        return len(self.trie.levels)

    @property
    def num_items(self) -> int:
        """Number of items."""
        return self.trie.num_items

    @property
    def num_sids(self) -> int:
        """Number of distinct SIDs, which are the leaves."""
        return self.trie.num_sids

    @property
    def levels(self) -> tuple[Level, ...]:
        """D levels of nodes."""
        return self.trie.levels

    @property
    def item_start(self) -> Int32s:
        """int32 [num_sids + 1]: leaf i has the positions item_start[i]..item_start[i+1]-1."""
        return self.trie.item_start

    @property
    def labels(self) -> tuple[Sequence[Label], ...]:
        """D sequences of K_l labels in code order."""
        return self._labels.levels

    @property
    def label_kind(self) -> LabelKind:
        """One of "token", "token_id", "code"; see `labels.Labels`."""
        return self._labels.kind

    @property
    def level_sizes(self) -> tuple[int, ...]:
        """K_l of each level."""
        return self._labels.sizes

    @property
    def has_titles(self) -> bool:
        """Whether any item has a title."""
        return self._titles is not None

    @cached_property
    def version(self) -> str:
        """Hexadecimal hash of the content: equal for equal items, SIDs, order and labels."""
        return storage.content_version(self._labels, self.digests)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays().values())

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Everything that is saved, by name; also what a device needs to see."""
        found: dict[str, npt.NDArray[Any]] = {"item_start": self.item_start}
        for depth, level in enumerate(self.levels):
            found[f"level{depth}.code"] = level.code
            if level.first_child is not None:
                found[f"level{depth}.first_child"] = level.first_child
            if depth < self.depth - 2:
                found[f"level{depth}.leaves"] = level.bounds
        found |= self.ids.arrays()
        if self._titles is not None:
            found |= {"titles.offsets": self._titles.offsets, "titles": self._titles.data}
        return found

    def item_id(self, position: int) -> ItemId:
        """Id of the item at a position."""
        return self.ids[self._checked_position(position)]

    def item_ids_at(self, positions: npt.ArrayLike) -> list[ItemId]:
        """Ids of the items at positions, as Python's own values."""
        return self.ids.take(self._checked_positions(positions))

    def titles_at(self, positions: npt.ArrayLike) -> list[str | None] | None:
        """Titles of the items at positions; None where the catalogue has none at all."""
        if self._titles is None:
            return None
        return [self._titles[at] or None for at in self._checked_positions(positions).tolist()]

    def title(self, position: int) -> str | None:
        """Title of the item at a position, if it has one."""
        where = self._checked_position(position)
        return self._titles[where] or None if self._titles is not None else None

    def position(self, item_id: ItemId) -> int:
        """Position of an item; 7 and "7" are the same id.

        Raises:
            InputError: no item has this id.
        """
        return int(self.positions([item_id])[0])

    def positions(self, item_ids: Iterable[ItemId], *, unknown: Unknown = "error") -> Int64s:
        """int64 positions of items, in the order given; unknown ids are an error or left out."""
        if unknown not in ("error", "skip"):
            raise InputError(f'unknown={unknown!r}; "error" or "skip" is expected')
        wanted = _id_list(item_ids)
        found = self.ids.find(wanted)
        missing = np.flatnonzero(found < 0)
        if len(missing) and unknown == "error":
            some = ", ".join(shown(wanted[i]) for i in missing[:5])
            more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
            raise InputError(
                f'not in the catalogue: item {some}{more}; unknown="skip" leaves such items out'
            )
        return found[found >= 0]

    def leaves(self, item_ids: Iterable[ItemId]) -> list[int]:
        """Leaf of each item, in the order given; -1 for ids that no item has."""
        found = self.ids.find(_id_list(item_ids))
        known = self.trie.leaves_of(np.maximum(found, 0)) if len(found) else found
        leaves: list[int] = np.where(found >= 0, known, -1).tolist()
        return leaves

    def leaf_of(self, position: int) -> int:
        """Leaf, which is the SID, of the item at a position."""
        where = np.asarray([self._checked_position(position)], dtype=np.int64)
        return int(self.trie.leaves_of(where)[0])

    def item_positions(self, leaf: int) -> range:
        """Positions of the items of a leaf, in the stated order."""
        if not 0 <= leaf < self.num_sids:
            raise InputError(f"leaf {leaf} is not one of the {self.num_sids} SIDs")
        return range(int(self.item_start[leaf]), int(self.item_start[leaf + 1]))

    def codes(self, leaves: npt.ArrayLike) -> Int32s:
        """int32 [n, D]: the SIDs of leaves."""
        return self.trie.codes(self._checked_leaves(leaves))

    def find(self, codes: npt.ArrayLike, nodes: npt.ArrayLike | None = None) -> Int64s:
        """int64 [M]: the leaf of each row of codes [M, D], or -1.

        `nodes` [M, D] are the nodes of the levels as a search believes them: where they are right,
        nothing is searched.
        """
        rows = self._paths("codes", codes)
        if nodes is None or not len(rows):
            return self.trie.find(rows)
        believed = self._paths("nodes", nodes)
        if believed.shape != rows.shape:
            raise InputError(f"nodes are {list(believed.shape)}; {list(rows.shape)} expected")
        return self.trie.confirm(rows, believed)

    def _paths(self, name: str, given: npt.ArrayLike) -> Int64s:
        """Integers [M, D] as int64."""
        rows = np.asarray(given)
        if rows.size == 0:
            return np.empty((0, self.depth), dtype=np.int64)
        if rows.ndim != 2 or rows.shape[1] != self.depth or rows.dtype.kind not in "iu":
            raise InputError(
                f"{name} are {rows.dtype} {list(rows.shape)}; integers [M, {self.depth}] expected"
            )
        return rows.astype(np.int64, copy=False)

    def find_sid(self, sid: str | Sequence[Any]) -> int:
        """Leaf of one SID, or -1.

        Args:
            sid: "<a_1><b_2><c_3>" (with or without <|sid_begin|> and <|sid_end|>), "1,2,3", or a
                sequence of labels; numbers are codes, token ids, or the numbers inside the tokens,
                by `label_kind`.

        Raises:
            InputError: another number of levels than D, or an unknown shape.
        """
        return self.trie.find_one(self._labels.codes_of(sid))

    def rebase(self, labels_per_level: Sequence[Sequence[Label]]) -> Catalogue:
        """The same SIDs with codes renumbered into a superset of labels per level.

        A model's tokenizer may have more code tokens than the catalogue uses; the columns of its
        logits then follow the tokenizer's. Plain codes are matched with tokens by the tokens'
        trailing integers. Filters registered so far come along; later ones belong to the catalogue
        that they are registered with.

        Returns:
            This catalogue itself where the labels are its own already.

        Raises:
            CatalogueError: naming the first label that is missing, and an item that needs it.
        """
        wanted = checked_labels(labels_per_level)
        self.check()
        if wanted == self._labels:
            return self
        maps = rebase.code_maps(self, wanted)
        if rebase.keeps_order(maps):
            trie, digests = rebase.renumber(self.trie, maps)
            named = self._named.renumbered(trie)
            digests = self.digests | digests
            return Catalogue(trie, wanted, self.ids, self._titles, digests, named=named)
        leaves = np.repeat(np.arange(self.num_sids), np.diff(self.item_start))
        codes = rebase.renumber_rows(self.trie.codes(leaves), maps)
        every = range(self.num_items)
        titles = [self._titles[i] for i in every] if self._titles is not None else None
        item_ids = [self.ids[i] for i in every] if isinstance(self.ids, TextIds) else None
        values = self.ids.values if isinstance(self.ids, IntegerIds) else item_ids
        moved, rows = self._build(codes, wanted, values, titles, Sinks(), "")
        moved._named = self._named.moved(moved.trie, rows)
        return moved

    def filter(
        self,
        *,
        exclude: Iterable[ItemId] = (),
        allow: Iterable[ItemId] | None = None,
        named: Sequence[str] = (),
        unknown: Unknown = "error",
    ) -> RequestFilter:
        """What one request may get: the items that pass `exclude`, `allow` and all of `named`.

        A SID survives while one of its items does. Exclusion wins over permission. A filter that
        leaves nothing is legal.

        Args:
            exclude: item ids to drop.
            allow: the only item ids to keep; None allows all.
            named: names of registered filters.
            unknown: whether ids that the catalogue lacks are an error or left out.
        """
        dropped = np.unique(self.positions(exclude, unknown=unknown))
        mask = self._named.get([named] if isinstance(named, str) else named)
        if allow is not None:
            kept = np.unique(self.positions(allow, unknown=unknown))
            kept = np.setdiff1d(kept, dropped, assume_unique=True)
            return filters.permission(self.trie, kept if mask is None else kept[mask.alive(kept)])
        if not len(dropped):
            return filters.no_filter(self.trie, mask)
        return filters.exclusion(self.trie, dropped, mask)

    def register_filter(
        self,
        name: str,
        *,
        allow: Iterable[ItemId] | None = None,
        exclude: Iterable[ItemId] | None = None,
        unknown: Unknown = "error",
    ) -> NamedMask:
        """Keep a large filter by name, as bits, with this catalogue and in memory only.

        A name that is registered again gets the new filter; requests that were made with the old
        one keep it.
        """
        if not isinstance(name, str):
            raise InputError(f"filter name {shown(name)} is a {type(name).__name__}, not a text")
        if allow is None and exclude is None:
            raise InputError(f"filter {name!r} needs allow= or exclude=")
        alive: Bools = np.full(self.num_items, allow is None, dtype=np.bool_)
        if allow is not None:
            alive[self.positions(allow, unknown=unknown)] = True
        if exclude is not None:
            alive[self.positions(exclude, unknown=unknown)] = False
        return self._named.register(name, alive)

    def expand(
        self,
        leaves: npt.ArrayLike,
        k: int,
        *,
        per_sid: int | None = None,
        request_filter: RequestFilter | None = None,
    ) -> tuple[Int64s, Int64s]:
        """The first k items of leaves, each leaf's in the stated order.

        Args:
            leaves: int [n], best first.
            k: the most items to return.
            per_sid: the most items of one leaf; None for all.
            request_filter: drops the items that it does not leave alive.

        Returns:
            positions int64 [m], m <= k, and for each the index into `leaves` it came from.
        """
        if k < 0 or (per_sid is not None and per_sid < 1):
            raise InputError(f"k={k}, per_sid={per_sid}; k >= 0 and per_sid >= 1 are expected")
        where = self._checked_leaves(leaves)
        return expand.expand_leaves(self.trie, where, k, per_sid, request_filter)

    def __repr__(self) -> str:
        """One line: sizes and version."""
        sizes = " x ".join(str(size) for size in self.level_sizes)
        return f"Catalogue({self.num_items} items, {self.num_sids} SIDs, {sizes}, {self.version})"

    @classmethod
    def _build(
        cls,
        codes: Any,
        labels: Labels,
        item_ids: Any,
        titles: Sequence[str | None] | None,
        sinks: Sinks,
        where: str,
    ) -> tuple[Catalogue, Int32s]:
        # Also the row that each position came from.
        built = build_trie(codes, labels.sizes, sinks)
        ids = store_ids(item_ids, built.rows, sinks, where)
        texts = None
        if titles is not None and any(titles):
            texts = store_texts((titles[row] or "" for row in built.rows), sinks, "titles")
        return cls(built.trie, labels, ids, texts, sinks.digests), built.rows

    def _checked_position(self, position: int) -> int:
        if not 0 <= position < self.num_items:
            raise InputError(f"position {position} is not one of the {self.num_items} items")
        return int(position)

    def _checked_positions(self, positions: npt.ArrayLike) -> Int64s:
        where = np.asarray(positions, dtype=np.int64).reshape(-1)
        if len(where) and not (where.min() >= 0 and where.max() < self.num_items):
            wrong = where[(where < 0) | (where >= self.num_items)][0]
            raise InputError(f"position {wrong} is not one of the {self.num_items} items")
        return where

    def _checked_leaves(self, leaves: npt.ArrayLike) -> Int64s:
        given = np.asarray(leaves)
        if given.size and given.dtype.kind not in "iu":
            raise InputError(f"leaves are {given.dtype}; integers are expected")
        where = given.astype(np.int64).reshape(-1)
        if len(where) and not (where.min() >= 0 and where.max() < self.num_sids):
            wrong = where[(where < 0) | (where >= self.num_sids)][0]
            raise InputError(f"leaf {wrong} is not one of the {self.num_sids} SIDs")
        return where


def _labels_of(
    codes: npt.NDArray[Any],
    labels: Sequence[Sequence[Label]] | Labels | None,
    level_sizes: Sequence[int] | None,
    where: str,
) -> Labels:
    highest = [int(column.max()) for column in codes.T]
    for level, size in enumerate(level_sizes or ()):
        if not 1 <= size <= INT32_MAX:
            raise CatalogueError(f"{where}level {level} has {size} codes; 1 to {INT32_MAX} may be")
    if labels is None:
        named = code_labels(level_sizes or [code + 1 for code in highest])
    else:
        named = labels if isinstance(labels, Labels) else checked_labels(labels, where)
    if len(named.sizes) != codes.shape[1]:
        raise CatalogueError(
            f"{where}{len(named.sizes)} levels are described, but SIDs have {codes.shape[1]}"
        )
    for level, (size, code) in enumerate(zip(named.sizes, highest, strict=True)):
        if code >= size:
            row = int(np.argmax(codes[:, level] >= size))
            raise CatalogueError(
                f"{where}row {row}: code {codes[row, level]} of level {level} is out of range; "
                f"the level has {size} codes"
            )
    return named


def _check_titles(titles: Sequence[str | None], where: str) -> None:
    for row, title in enumerate(titles):
        if title is not None and not isinstance(title, str):
            raise CatalogueError(
                f"{where}row {row}: title {shown(title)} is a {type(title).__name__}; a text or "
                "nothing is expected"
            )
        if title and not is_unicode(title):
            raise CatalogueError(f"{where}row {row}: title {shown(title)} is not Unicode text")


def _id_list(item_ids: Iterable[ItemId]) -> Sequence[ItemId] | npt.NDArray[Any]:
    if isinstance(item_ids, (str, bytes)):
        raise InputError(f"{shown(item_ids)} is one text; give a list of item ids")
    if isinstance(item_ids, np.ndarray):
        if item_ids.ndim != 1:
            raise InputError(f"item ids have shape {item_ids.shape}; [N] is expected")
        return item_ids
    try:
        return list(item_ids)
    except TypeError:
        raise InputError(f"{shown(item_ids)} is not a list of item ids") from None
