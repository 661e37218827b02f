"""RMS normalisation with the residual added in place."""

from __future__ import annotations

import numpy as np

from xgr.backends.cpu_ref.arrays import Array, Floats
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
    product = scratch.target("out", out)
    np.multiply(source, inverse_rms(source, eps)[:, None], out=product)
    product *= scratch.float32("weight", weight)
    if product is not out:
        out[...] = product


def inverse_rms(rows: Floats, eps: float) -> Floats:
    """1 / sqrt(mean of squares + eps) of each row, [n]."""
    mean: Floats = np.vecdot(rows, rows)
    mean *= 1 / rows.shape[-1]
    mean += eps
    np.reciprocal(np.sqrt(mean, out=mean), out=mean)
    return mean
