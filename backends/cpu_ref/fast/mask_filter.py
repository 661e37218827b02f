"""mask_filter over the flat list of children."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from xgr.backends.cpu_ref.fast.candidates import dropped, gather
from xgr.backends.cpu_ref.fast.selection import LEAST
from xgr.ops.array import Filters, Trie
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher

Tensor = NDArray[Any]


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare."""
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
    """Scatter the scores of legal children into -inf."""
    children = gather(trie, level, node, row_start, live)
    row, code = children.spread(children.row), children.code
    legal = np.maximum(scores[row, code], LEAST)
    gone = dropped(filters, level, 0, children)
    if gone is not None:
        legal[gone] = -np.inf
    out[...] = -np.inf
    out[row, code] = legal
