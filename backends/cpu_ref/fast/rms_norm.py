"""RMS normalisation with the residual added in place."""

from __future__ import annotations

import numpy as np

from xgr.backends.cpu_ref.arrays import Array
from xgr.backends.cpu_ref.scratch import scratch
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare."""
    return _launch


@np.errstate(all="ignore")  # a NaN is the caller's, and flows
def _launch(
    *,
    x: Array,
    weight: Array,
    out: Array,
    eps: float,
    residual: Array | None = None,
) -> None:
    if residual is not None:
        if residual.dtype == np.float32:
            residual += x
        else:
            total = scratch.float32("residual", residual)
            total += scratch.float32("x", x)
            residual[...] = total
        x = residual
    source = scratch.float32("x", x)
    mean = np.vecdot(source, source)
    mean *= 1 / x.shape[1]
    mean += eps
    inverse = np.reciprocal(np.sqrt(mean, out=mean), out=mean)
    product = scratch.target("out", out)
    np.multiply(source, inverse[:, None], out=product)
    product *= scratch.float32("weight", weight)
    if product is not out:
        out[...] = product
