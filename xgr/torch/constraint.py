"""A catalogue and filters as arguments of operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from xgr.catalog import Catalogue, RequestFilter
from xgr.catalog.device import FilterBuffers, Served
from xgr.ops.array import Array
from xgr.runtime import runtime
from xgr.torch.structures import filters_list, trie_list


def constraint(
    catalogue: Catalogue,
    filters: Sequence[RequestFilter | None] | None = None,
    device: str = "cpu",
) -> dict[str, Any]:
    """The arguments `trie` and `level_sizes` of an operator, and `filters` where some are given.

    Args:
        catalogue: the items that may come out; copied to the device.
        filters: one a request, from `catalogue.filter`, None for a request without.
        device: "cpu" or "cuda".

    Raises:
        BackendMissing: the device cannot be used here.
        CatalogueError: a saved catalogue whose files have changed.
    """
    rt = runtime(device)
    given = [f for f in filters or () if f is not None]
    served = Served(rt, masks=max(1, len({id(f.mask) for f in given})))
    trie = served.trie(catalogue)
    found: dict[str, Any] = {"level_sizes": list(trie.level_sizes)}
    if filters is not None:
        listed = [sum(len(f.nodes[level]) for f in given) for level in range(catalogue.depth)]
        buffers = FilterBuffers(rt, catalogue.depth, len(filters), max(1, *listed))
        words = served.words(catalogue)
        buffers.write(filters, served)
        found["filters"] = [_tensor(array) for array in filters_list(buffers.over(words))]
    return found | {"trie": [_tensor(array) for array in trie_list(trie)]}


def _tensor(array: Array) -> torch.Tensor:
    """The same memory as torch sees it."""
    return torch.as_tensor(array)
