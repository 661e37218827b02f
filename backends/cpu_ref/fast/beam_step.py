"""beam_step over gathered children: threshold and prefix sum choose, only survivors are sorted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from xgr.backends.cpu_ref.fast.candidates import Children, dropped, gather
from xgr.backends.cpu_ref.fast.selection import LEAST, best, by_rank
from xgr.errors import InputError
from xgr.ops.array import Filters, Trie
from xgr.ops.beam_step import NAN_LOGIT
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher

Tensor = NDArray[Any]


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare."""
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
    if normalize == "vocab" and lse is None:
        raise InputError('beam_step: normalize="vocab" needs the argument lse')
    clear(parent, row_start, row_start_out)
    code.fill(0)
    node_out.fill(-1)
    cumulative_out.fill(-np.inf)

    widths = np.minimum(out_width, np.diff(row_start_out)).tolist()
    targets = row_start_out.tolist()
    firsts, lives = row_start.tolist(), live.tolist()
    columns = logits.shape[1]
    for request, width in enumerate(widths):
        one = slice(request, request + 1)
        live_out[request] = 0
        if not lives[request]:
            continue
        rows = slice(firsts[request], firsts[request] + lives[request])
        children = None
        if trie is not None:
            children = gather(trie, level, node, row_start[request : request + 2], live[one])
            logit = logits[children.spread(children.row), children.code].astype(np.float32)
        else:
            logit = logits[rows].astype(np.float32).reshape(-1)
        norm = _normalizer(normalize, logits, lse, rows, logit, children)
        base = cumulative[rows]
        if children is not None:
            score = logit - children.spread(norm)
            score += children.spread(base)
        else:
            score = ((logit.reshape(-1, columns) - norm[:, None]) + base[:, None]).reshape(-1)
        np.maximum(score, LEAST, out=score)
        if children is not None:
            gone = dropped(filters, level, request, children)
            if gone is not None:
                score[gone] = -np.inf
        if not score.max(initial=-np.inf) < np.inf:
            status[request] |= NAN_LOGIT
            continue
        chosen = best(score, width)
        if order == "rank":
            chosen = chosen[by_rank(score[chosen])]
        target = slice(targets[request], targets[request] + len(chosen))
        cumulative_out[target] = score[chosen]
        if children is not None:
            owner = np.searchsorted(children.start, chosen, side="right") - 1
            parent[target] = children.row[owner]
            code[target] = children.code[chosen]
            node_out[target] = children.node[chosen]
        else:
            parent[target] = chosen // columns + rows.start
            code[target] = chosen % columns
            node_out[target] = 0
        live_out[request] = len(chosen)


def clear(parent: Tensor, row_start: Tensor, row_start_out: Tensor) -> None:
    """Dead rows name the first row of their request, rows of nobody row 0."""
    parent.fill(0)
    widths = np.diff(row_start_out)
    parent[row_start_out[0] : row_start_out[-1]] = np.repeat(row_start[:-1], widths)


def _normalizer(
    normalize: str,
    logits: Tensor,
    lse: Tensor | None,
    rows: slice,
    logit: Tensor,
    children: Children | None,
) -> Tensor:
    if normalize == "vocab" and lse is not None:
        return lse[rows]
    if normalize == "none":
        return np.zeros(rows.stop - rows.start, np.float32)
    if normalize == "children" and children is not None:
        return _segment_lse(logit, children)
    x = logits[rows].astype(np.float32)
    largest = _finite(x.max(axis=1, initial=-np.inf))
    total = np.exp(x - largest[:, None]).sum(axis=1)
    return _closed(largest, total)


def _segment_lse(logit: Tensor, children: Children) -> Tensor:
    norm = np.zeros(len(children.row), np.float32)
    some = children.count > 0
    if some.any():
        start = children.start[:-1][some]
        largest = _finite(np.maximum.reduceat(logit, start))
        power = np.exp(logit - np.repeat(largest, children.count[some]))
        norm[some] = _closed(largest, np.add.reduceat(power, start))
    return norm


def _finite(largest: Tensor) -> Tensor:
    # exp(-inf - -inf) would be NaN; +inf and NaN pass, and make their request fail
    return np.where(largest == -np.inf, np.float32(0), largest)


def _closed(largest: Tensor, total: Tensor) -> Tensor:
    # total is 0 where every logit is -inf, NaN where the largest is +inf
    norm = np.where(total > 0, np.log(total, where=total > 0, out=np.zeros_like(total)), 0)
    return np.where(np.isposinf(largest), largest, norm + largest).astype(np.float32)
