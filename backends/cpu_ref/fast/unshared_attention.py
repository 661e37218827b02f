"""Unshared stage: slot by slot over all rows at once."""

from __future__ import annotations

from functools import partial

import numpy as np

from xgr.backends.cpu_ref.fast.softmax import exponentials
from xgr.backends.cpu_ref.rows import dead_rows
from xgr.backends.cpu_ref.scratch import Array, Scratch
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Bind to a problem."""
    return partial(_launch, Scratch())


@np.errstate(all="ignore")  # rows that are dead hold anything; a NaN of a live one flows
def _launch(
    scratch: Scratch,
    *,
    q: Array,
    k: Array,
    v: Array,
    row_start: Array,
    live: Array,
    step: int,
    scale: float,
    out: Array,
    lse: Array,
    ancestors: Array | None = None,
    bias: Array | None = None,
) -> None:
    rows, heads, size = q.shape
    groups = k.shape[2]
    if step == 0:
        out[...], lse[...] = 0, -np.inf
        return
    fold = (rows, groups, heads // groups)
    queries = scratch.float32("q", q).reshape(*fold, size)
    scores = scratch("scores", (*fold, step))
    for slot in range(step):
        keys = scratch.float32("k", _slot(k, slot, ancestors))
        np.vecdot(queries, keys[:, :, None], out=scores[..., slot])
    scores *= scale
    if bias is not None:
        scores += bias[:, :step].reshape(*fold[1:], step)
    greatest, total = exponentials(scores)
    scores /= total
    products = scratch("products", (*fold, size))
    term = scratch("term", (*fold, size))
    for slot in range(step):
        values = scratch.float32("v", _slot(v, slot, ancestors))
        weights = scores[..., slot, None]
        if slot == 0:
            np.multiply(values[:, :, None], weights, out=products)
        else:
            products += np.multiply(values[:, :, None], weights, out=term)
    out[...] = products.reshape(rows, heads, size)
    np.log(total, out=total)
    total += greatest
    lse[...] = total.reshape(rows, heads)
    for dead in dead_rows(row_start, live, rows):
        out[dead], lse[dead] = 0, -np.inf


def _slot(cache: Array, slot: int, ancestors: Array | None) -> Array:
    """[R, G, d] of a slot, each row's from the row that holds it."""
    if ancestors is None:
        return cache[:, slot]
    # ancestors of dead rows may be anything; what they lead to is cleared
    holders = np.minimum(ancestors[:, slot].view(np.uint32), cache.shape[0] - 1)
    gathered: Array = cache[holders, slot]
    return gathered
