"""beam_sort as defined: every candidate of a request in one full sort."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from xgr.backends.cpu_ref.reference.selection import best
from xgr.ops.beam_step import LEAST
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher

Tensor = NDArray[Any]


def build(problem: Problem, context: Context) -> Launcher:
    """The definition needs no preparation."""
    return beam_sort


@np.errstate(invalid="ignore", over="ignore")
def beam_sort(
    *,
    scores: Tensor,
    cumulative: Tensor,
    row_start: Tensor,
    live: Tensor,
    row_start_out: Tensor,
    out_width: Tensor,
    order: str,
    parent: Tensor,
    code: Tensor,
    score: Tensor,
    live_out: Tensor,
) -> None:
    """Keep the best candidates of each request."""
    parent[...], code[...], score[...] = 0, 0, -np.inf
    for request in range(len(live)):
        first = row_start[request]
        rows = np.arange(first, first + live[request])
        total = cumulative[rows, None] + scores[rows]
        is_candidate = ~np.isneginf(total)
        offset, column = np.nonzero(is_candidate)
        value = np.maximum(total[is_candidate], LEAST)
        source = rows[offset]

        out_first, out_end = row_start_out[request], row_start_out[request + 1]
        parent[out_first:out_end] = first
        live_out[request] = 0
        if np.isnan(value).any() or np.isposinf(value).any():
            continue
        width = min(int(out_width[request]), out_end - out_first)
        chosen = best(value, source, column, width, order)
        target = slice(out_first, out_first + len(chosen))
        parent[target], code[target] = source[chosen], column[chosen]
        score[target] = value[chosen]
        live_out[request] = len(chosen)
