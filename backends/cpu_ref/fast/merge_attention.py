"""Merge of attention parts by online softmax, over all rows at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xgr.backends.cpu_ref.arrays import Array
from xgr.backends.cpu_ref.scratch import scratch
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare."""
    return _launch


@np.errstate(all="ignore")  # a NaN is the caller's, and flows
def _launch(*, outs: Sequence[Array], lses: Sequence[Array], out: Array, lse: Array) -> None:
    weights = scratch("weights", (len(lses), *lse.shape))
    for weight, part in zip(weights, lses, strict=True):
        np.copyto(weight, part)
    greatest = weights.max(axis=0)
    # all parts empty: any finite value keeps -inf - greatest from being NaN
    greatest[np.isneginf(greatest)] = 0
    weights -= greatest
    np.exp(weights, out=weights)
    total = weights.sum(axis=0)
    np.log(total, out=lse)
    lse += greatest
    total[total == 0] = 1
    weights /= total
    products, term = scratch.target("products", out), scratch("term", out.shape)
    for index, part in enumerate(outs):
        scaled_part = scratch.float32("part", part)
        if index == 0:
            np.multiply(scaled_part, weights[index, ..., None], out=products)
        else:
            products += np.multiply(scaled_part, weights[index, ..., None], out=term)
    if products is not out:
        out[...] = products
