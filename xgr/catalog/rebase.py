"""Renumbering the codes of a catalogue into a superset of its labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from xgr.catalog.arrays import digest_of
from xgr.catalog.labels import Label, Labels, by_number
from xgr.catalog.order import BLOCK
from xgr.catalog.search import Bools, Int32s
from xgr.catalog.trie import Level, Trie
from xgr.errors import CatalogueError

if TYPE_CHECKING:
    from xgr.catalog.catalogue import Catalogue


# A table of a level's codes must not cost more than this, whatever number a file holds.
MAX_CODES = 1 << 24


def code_maps(catalogue: Catalogue, wanted: Labels) -> list[Int32s]:
    """New code of each old code that is in use, -1 for those that no SID has; one map a level.

    Raises:
        CatalogueError: another depth, other kinds of labels, more than MAX_CODES codes in a level,
            or a used label that is missing.
    """
    if len(wanted.levels) != catalogue.depth:
        raise CatalogueError(
            f"labels for {len(wanted.levels)} levels, but the catalogue has {catalogue.depth}"
        )
    kinds = (catalogue.label_kind, wanted.kind)
    if kinds not in (("token", "token"), ("token_id", "token_id"), ("code", "token")):
        raise CatalogueError(
            f"the catalogue's labels are of kind {kinds[0]}, the given ones of kind {kinds[1]}; "
            "give tokens for tokens or plain codes, and token ids for token ids"
        )
    maps = []
    for level, new in enumerate(wanted.levels):
        index: dict[Label, int] = (
            {number: code for number, code in by_number(new).items()}
            if catalogue.label_kind == "code"
            else {label: code for code, label in enumerate(new)}
        )
        old = catalogue.labels[level]
        if len(old) > MAX_CODES:
            raise CatalogueError(
                f"level {level} has {len(old)} codes; at most {MAX_CODES} of a level can be "
                "renumbered to those of a model"
            )
        used = _used(catalogue.levels[level].code, len(old))
        codes = np.full(len(old), -1, dtype=np.int32)
        for code in np.flatnonzero(used).tolist():
            found = index.get(old[code])
            if found is None:
                raise _missing(catalogue, level, code, new)
            codes[code] = found
        maps.append(codes)
    return maps


def keeps_order(maps: list[Int32s]) -> bool:
    """Whether the used codes stay in ascending order, so that nodes keep their numbers."""
    return all(bool(np.all(np.diff(codes[codes >= 0]) > 0)) for codes in maps)


def renumber(trie: Trie, maps: list[Int32s]) -> tuple[Trie, dict[str, str]]:
    """The same nodes with new codes, and the digests of the new arrays."""
    levels, digests = [], {}
    for depth, (level, codes) in enumerate(zip(trie.levels, maps, strict=True)):
        new = np.empty(len(level), dtype=np.int32)
        for base in range(0, len(new), BLOCK):
            new[base : base + BLOCK] = codes[level.code[base : base + BLOCK]]
        bounds = level.bounds if depth < len(maps) - 1 else None
        levels.append(Level(new, level.first_child, bounds))
        digests[f"level{depth}.code"] = digest_of(new)
    return Trie(tuple(levels), trie.item_start), digests


def renumber_rows(codes: Int32s, maps: list[Int32s]) -> Int32s:
    """Rows of codes [N, D] with new codes."""
    return np.stack([new[codes[:, level]] for level, new in enumerate(maps)], axis=1)


def _used(codes: Int32s, size: int) -> Bools:
    used = np.zeros(size, dtype=np.bool_)
    for base in range(0, len(codes), BLOCK):
        used[codes[base : base + BLOCK]] = True
    return used


def _missing(catalogue: Catalogue, level: int, code: int, new: Sequence[Label]) -> CatalogueError:
    node = int(np.argmax(catalogue.levels[level].code == code))
    leaf = int(catalogue.levels[level].bounds[node])
    item = catalogue.item_id(catalogue.item_positions(leaf)[0])
    return CatalogueError(
        f"level {level} of the model has no code for {catalogue.labels[level][code]!r}, which item "
        f"{item!r} needs ({len(new)} labels, {new[0]!r} to {new[-1]!r}); use the catalogue that "
        "the model was trained with"
    )
