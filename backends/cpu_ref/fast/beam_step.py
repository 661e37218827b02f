"""beam_step over gathered children: threshold and prefix sum choose, only survivors are sorted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from xgr.backends.cpu_ref.fast.candidates import Children, dropped, gather, pick
from xgr.backends.cpu_ref.fast.normalizer import row_lse, segment_lse
from xgr.backends.cpu_ref.fast.selection import best, by_rank
from xgr.backends.levels import check_level
from xgr.errors import InputError
from xgr.ops.array import Filters, Trie
from xgr.ops.beam_step import LEAST, NAN_LOGIT
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
    if trie is not None:
        check_level(trie, level, logits.shape[1])
    clear(parent, row_start, row_start_out)
    code.fill(0)
    node_out.fill(-1)
    cumulative_out.fill(-np.inf)
    live_out.fill(0)
    widths = np.minimum(out_width, np.diff(row_start_out)).tolist()
    firsts, counts, targets = row_start.tolist(), live.tolist(), row_start_out.tolist()
    for request, (first, count, width) in enumerate(zip(firsts[:-1], counts, widths, strict=True)):
        if not count:
            continue
        rows = slice(first, first + count)
        mine = logits[rows]
        given = lse[rows] if normalize == "vocab" and lse is not None else None
        children = None
        if trie is None:
            score = every_score(mine, _norm(normalize, given, mine), cumulative[rows])
        else:
            children = gather(trie, level, node[rows])
            score = children_score(mine, children, normalize, given, cumulative[rows])
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
        live_out[request] = len(chosen)
        cumulative_out[target] = score[chosen]
        if children is None:
            row, code[target] = np.divmod(chosen, logits.shape[1])
            node_out[target] = 0
        else:
            row, code[target] = children.owner(chosen), children.code[chosen]
            node_out[target] = children.node[chosen]
        parent[target] = row + first


def clear(parent: Tensor, row_start: Tensor, row_start_out: Tensor) -> None:
    """Dead rows name the first row of their request, rows of nobody row 0."""
    parent.fill(0)
    widths = np.diff(row_start_out)
    parent[row_start_out[0] : row_start_out[-1]] = np.repeat(row_start[:-1], widths)


def every_score(logits: Tensor, norm: Tensor, base: Tensor) -> Tensor:
    """Scores of every code of every row, flat."""
    score: Tensor = np.subtract(logits, norm[:, None], dtype=np.float32)
    score += base[:, None]
    np.maximum(score, LEAST, out=score)
    return score.reshape(-1)


def children_score(
    logits: Tensor, children: Children, normalize: str, given: Tensor | None, base: Tensor
) -> Tensor:
    """Scores of the children of every row, flat."""
    score = pick(logits, children.code, children.count).astype(np.float32, copy=False)
    if normalize == "children":
        norm = segment_lse(score, children.start, children.count)
    else:
        norm = _norm(normalize, given, logits)
    # two roundings, as defined: the sum of base and -norm would be another number
    score -= np.repeat(norm, children.count)
    score += np.repeat(base, children.count)
    return np.maximum(score, LEAST, out=score)


def _norm(normalize: str, given: Tensor | None, logits: Tensor) -> Tensor:
    if given is not None:
        return given
    if normalize == "none":
        return np.zeros(len(logits), np.float32)
    return row_lse(logits)
