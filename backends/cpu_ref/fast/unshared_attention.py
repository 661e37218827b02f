"""Unshared stage: slot by slot over all rows at once."""

from __future__ import annotations

import numpy as np

from xgr.backends.cpu_ref.arrays import Array
from xgr.backends.cpu_ref.rows import dead_rows
from xgr.backends.cpu_ref.scratch import scratch
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare."""
    return _launch


@np.errstate(all="ignore")  # rows that are dead hold anything; a NaN of a live one flows
def _launch(
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
    if step == 0:
        out[...], lse[...] = 0, -np.inf
        return
    (_, heads, size), groups, owned = q.shape, k.shape[2], int(row_start[-1])
    fold = (owned, groups, heads // groups)
    queries = scratch.float32("q", q[:owned]).reshape(*fold, size)
    # slots come first: what runs over the slots of a row then runs over whole arrays
    scores = scratch("scores", (step, owned, heads))
    for slot in range(step):
        keys = scratch.float32("k", _slot(k, slot, owned, ancestors))
        np.vecdot(queries, keys[:, :, None], out=scores[slot].reshape(fold))
    scores *= scale
    if bias is not None:
        scores += bias.T[:step, None]
    greatest = scores.max(axis=0)
    scores -= greatest
    np.exp(scores, out=scores)
    total = scores.sum(axis=0)
    scores /= total
    products = scratch("products", (*fold, size))
    term = scratch("term", (*fold, size))
    for slot in range(step):
        values = scratch.float32("v", _slot(v, slot, owned, ancestors))[:, :, None]
        weights = scores[slot].reshape(*fold, 1)
        if slot == 0:
            np.multiply(values, weights, out=products)
        else:
            products += np.multiply(values, weights, out=term)
    out[:owned] = products.reshape(owned, heads, size)
    np.add(greatest, np.log(total, out=total), out=lse[:owned])
    for rows in dead_rows(row_start, live, len(q)):
        out[rows], lse[rows] = 0, -np.inf


def _slot(cache: Array, slot: int, owned: int, ancestors: Array | None) -> Array:
    """[R, G, d] of a slot, each row's from the row that holds it."""
    if ancestors is None:
        return cache[:owned, slot]
    # ancestors of dead rows may be anything; what they lead to is cleared
    holders = np.minimum(ancestors[:owned, slot].view(np.uint32), len(cache) - 1)
    gathered: Array = cache[holders, slot]
    return gathered
