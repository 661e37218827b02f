"""A level of the catalogue and the filters at it, as the kernels of `csrc` take them."""

from __future__ import annotations

from typing import Any

import torch

from xgr.backends import levels
from xgr.ops.array import Filters, Trie


def level_arguments(trie: Trie | None, level: int, columns: int) -> dict[str, Any]:
    """The trie at `level`: its descriptor, which launches that were captured follow, or arrays.

    Raises:
        InputError: `level` is beyond the catalogue's depth, or its codes exceed `columns`.
    """
    found = levels.trie_arguments(trie, level, columns)
    return found | {"codes": found.pop("code")}


def filter_arguments(trie: Trie | None, filters: Filters | None, level: int) -> dict[str, Any]:
    """The lists and masks of a batch's requests at `level`; nothing without filters."""
    found = levels.filter_arguments(trie, filters, level)
    if found["words"] is not None:
        found["words"] = found["words"].view(torch.int32)
    return found
