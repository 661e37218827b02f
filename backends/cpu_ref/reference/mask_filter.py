"""mask_filter as defined: one row, one child at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from xgr.backends.cpu_ref.reference.selection import children, codes, kept
from xgr.backends.levels import check_level
from xgr.ops.array import Filters, Trie
from xgr.ops.beam_step import LEAST
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher

Tensor = NDArray[Any]


def build(problem: Problem, context: Context) -> Launcher:
    """The definition needs no preparation."""
    return mask_filter


def mask_filter(
    *,
    scores: Tensor,
    node: Tensor,
    row_start: Tensor,
    live: Tensor,
    trie: Trie,
    level: int,
    out: Tensor,
    filters: Filters | None = None,
) -> None:
    """Copy the scores of legal children, at least -1e30; all else is -inf."""
    check_level(trie, level, scores.shape[1])
    out[...] = -np.inf
    for request in range(len(live)):
        first = row_start[request]
        for row in range(first, first + live[request]):
            nodes = children(trie, level, int(node[row]))
            nodes = nodes[kept(filters, request, level, nodes)]
            for column in codes(trie, level, nodes):
                # a NaN stays a NaN
                out[row, column] = np.maximum(scores[row, column], LEAST)
