"""A level of the catalogue and the filters at it: what ops refuse, and what kernels are given."""

from __future__ import annotations

from typing import Any

from xgr.errors import InputError
from xgr.ops.array import Filters, Trie


def check_level(trie: Trie, level: int, columns: int) -> None:
    """Refuse a level that the catalogue does not have, and codes that have no column.

    Raises:
        InputError: `level` is beyond the catalogue's depth, or its codes exceed `columns`.
    """
    depth = len(trie.levels)
    if not 0 <= level < depth:
        raise InputError(f"level {level} of a catalogue with {depth} levels (0 to {depth - 1})")
    if trie.level_sizes[level] > columns:
        raise InputError(
            f"level {level} of catalogue {trie.version} has {trie.level_sizes[level]} codes, "
            f"and the scores have {columns} columns"
        )


def trie_arguments(trie: Trie | None, level: int, columns: int) -> dict[str, Any]:
    """The trie at `level` by the names of kernels' parameters; nothing without a catalogue.

    A captured graph follows a descriptor to another catalogue; arrays it keeps as they are.

    Raises:
        InputError: as `check_level`.
    """
    found: dict[str, Any] = {"descriptor": None, "code": None, "first_child": None}
    found |= {"level": level, "nodes_here": 0, "nodes_above": 0}
    if trie is None:
        return found
    check_level(trie, level, columns)
    if trie.descriptor is not None:
        return found | {"descriptor": trie.descriptor}
    found["code"] = trie.levels[level].code
    found["nodes_here"] = trie.levels[level].code.shape[0]
    if level:
        found["first_child"] = trie.levels[level - 1].first_child
        found["nodes_above"] = trie.levels[level - 1].code.shape[0]
    return found


def filter_arguments(trie: Trie | None, filters: Filters | None, level: int) -> dict[str, Any]:
    """The lists and masks of a batch's requests at `level`, torch's; nothing without filters."""
    names = ("kind", "mask", "list_start", "listed", "words")
    found: dict[str, Any] = dict.fromkeys(names) | {"mask_pitch": 0}
    if filters is None or trie is None:
        return found
    start: Any = filters.start
    listed: Any = filters.nodes
    found |= {"kind": filters.kind, "mask": filters.mask}
    found |= {"list_start": start[level], "listed": listed[level]}
    if trie.descriptor is None:
        words: Any = filters.words[level]
        found |= {"words": words, "mask_pitch": words.stride(0)}
    return found
