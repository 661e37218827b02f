"""beam_step as defined: candidates row by row, then one full sort a request."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from xgr.backends.cpu_ref.reference.selection import best, children, codes, kept
from xgr.backends.levels import check_level
from xgr.errors import InputError
from xgr.ops.array import Filters, Trie
from xgr.ops.beam_step import LEAST, NAN_LOGIT
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher

Tensor = NDArray[Any]


def build(problem: Problem, context: Context) -> Launcher:
    """The definition needs no preparation."""
    return beam_step


@np.errstate(invalid="ignore", over="ignore")
def beam_step(
    *,
    logits: Tensor,
    cumulative: Tensor,
    node: Tensor,
    row_start: Tensor,
    live: Tensor,
    row_start_out: Tensor,
    out_width: Tensor,
    level: int,
    normalize: str,
    order: str,
    parent: Tensor,
    code: Tensor,
    node_out: Tensor,
    cumulative_out: Tensor,
    live_out: Tensor,
    status: Tensor,
    lse: Tensor | None = None,
    trie: Trie | None = None,
    filters: Filters | None = None,
) -> None:
    """Extend the beams of each request by one code."""
    if trie is not None:
        check_level(trie, level, logits.shape[1])
    parent[...], code[...], node_out[...], cumulative_out[...] = 0, 0, -1, -np.inf
    for request in range(len(live)):
        first = row_start[request]
        # one array a live row of each: parent, code, child node and score of its candidates
        found: list[tuple[Tensor, Tensor, Tensor, Tensor]] = []
        for row in range(first, first + live[request]):
            logit = logits[row].astype(np.float32)
            if trie is None:
                nodes = np.zeros(len(logit), np.int64)
                columns = np.arange(len(logit))
            else:
                nodes = children(trie, level, int(node[row]))
                columns = codes(trie, level, nodes)
            if normalize == "vocab":
                if lse is None:
                    raise InputError('beam_step: normalize="vocab" needs the argument lse')
                norm = lse[row]
            elif normalize == "level":
                norm = log_sum_exp(logit)
            elif normalize == "children":
                norm = log_sum_exp(logit[columns])
            else:
                norm = np.float32(0)
            if trie is not None:
                alive = kept(filters, request, level, nodes)
                nodes, columns = nodes[alive], columns[alive]
            score = cumulative[row] + (logit[columns] - norm)
            found.append((np.full(len(nodes), row), columns, nodes, np.maximum(score, LEAST)))

        out_first, out_end = row_start_out[request], row_start_out[request + 1]
        parent[out_first:out_end] = first
        live_out[request] = 0
        if not found:
            continue
        source, column, child, value = (np.concatenate(part) for part in zip(*found, strict=True))
        if np.isnan(value).any() or np.isposinf(value).any():
            status[request] |= NAN_LOGIT
            continue
        width = min(int(out_width[request]), out_end - out_first)
        chosen = best(value, source, column, width, order)
        target = slice(out_first, out_first + len(chosen))
        parent[target], code[target] = source[chosen], column[chosen]
        node_out[target], cumulative_out[target] = child[chosen], value[chosen]
        live_out[request] = len(chosen)


def log_sum_exp(x: Tensor) -> np.float32:
    """Natural log of the sum of exponentials; 0 where no logit is above -inf."""
    largest = np.max(x, initial=-np.inf).astype(np.float64)
    if not np.isfinite(largest):
        return np.float32(0 if largest == -np.inf else largest)
    return np.float32(largest + np.log(np.sum(np.exp(x.astype(np.float64) - largest))))
