"""Matrix product over BLAS in float32, added to the residual."""

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
def _launch(*, x: Array, weight: Array, residual: Array) -> None:
    product = scratch("product", residual.shape)
    np.matmul(scratch.float32("x", x), scratch.float32("weight", weight).T, out=product)
    if residual.dtype == np.float32:
        residual += product
    else:
        product += scratch.float32("residual", residual)
        residual[...] = product
