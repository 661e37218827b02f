"""mask_filter over the flat list of children."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from xgr.backends.cpu_ref.fast.candidates import dropped, gather, pick
from xgr.backends.levels import check_level
from xgr.ops.array import Filters, Trie
from xgr.ops.beam_step import LEAST
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
    check_level(trie, level, scores.shape[1])
    out.fill(-np.inf)
    firsts, counts = row_start.tolist(), live.tolist()
    for request, (first, count) in enumerate(zip(firsts[:-1], counts, strict=True)):
        rows = slice(first, first + count)
        children = gather(trie, level, node[rows])
        legal = pick(scores[rows], children.code, children.count)
        np.maximum(legal, LEAST, out=legal)
        gone = dropped(filters, level, request, children)
        if gone is not None:
            legal[gone] = -np.inf
        out[np.repeat(np.arange(first, first + count), children.count), children.code] = legal
