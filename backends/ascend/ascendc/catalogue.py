"""A level of the catalogue and the filters at it, as the kernels of `csrc` take them."""

from __future__ import annotations

from typing import Any

import torch

from xgr.backends.ascend.levels import check_level
from xgr.ops.array import Filters, Trie


def level_arguments(trie: Trie | None, level: int, columns: int) -> dict[str, Any]:
    """The trie at `level`: its descriptor, which launches that were captured follow, or arrays.

    Raises:
        InputError: `level` is beyond the catalogue's depth, or its codes exceed `columns`.
    """
    found: dict[str, Any] = {"descriptor": None, "codes": None, "first_child": None}
    found |= {"level": level, "nodes_here": 0, "nodes_above": 0}
    if trie is None:
        return found
    check_level(trie, level, columns)
    if trie.descriptor is not None:
        return found | {"descriptor": trie.descriptor}
    found["codes"] = trie.levels[level].code
    found["nodes_here"] = trie.levels[level].code.shape[0]
    if level:
        found["first_child"] = trie.levels[level - 1].first_child
        found["nodes_above"] = trie.levels[level - 1].code.shape[0]
    return found


def filter_arguments(trie: Trie | None, filters: Filters | None, level: int) -> dict[str, Any]:
    """The lists and masks of a batch's requests at `level`; nothing without filters."""
    names = ("kind", "mask", "list_start", "listed", "words")
    found: dict[str, Any] = dict.fromkeys(names) | {"mask_pitch": 0}
    if filters is None or trie is None:
        return found
    start: Any = filters.start
    nodes: Any = filters.nodes
    found |= {"kind": filters.kind, "mask": filters.mask}
    found |= {"list_start": start[level], "listed": nodes[level]}
    if trie.descriptor is None:
        words: Any = filters.words[level]
        found |= {"words": words.view(torch.int32), "mask_pitch": words.stride(0)}
    return found
