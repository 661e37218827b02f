"""Matrix product over BLAS in float32."""

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
def _launch(*, x: Array, weight: Array, out: Array, bias: Array | None = None) -> None:
    product = scratch.target("out", out)
    np.matmul(scratch.float32("x", x), scratch.float32("weight", weight).T, out=product)
    if bias is not None:
        product += scratch.float32("bias", bias)
    if product is not out:
        out[...] = product
