"""Definition of rms_norm."""

from __future__ import annotations

import numpy as np

from xgr.backends.cpu_ref.arrays import Array
from xgr.backends.cpu_ref.reference.rotary import normalised
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare."""
    return rms_norm


@np.errstate(invalid="ignore", over="ignore")  # a NaN is the caller's, and flows
def rms_norm(
    *, x: Array, weight: Array, out: Array, eps: float, residual: Array | None = None
) -> None:
    """The norm is of the residual as it is stored, rounded to its dtype."""
    if residual is not None:
        residual[...] = residual.astype(np.float64) + x.astype(np.float64)
        x = residual
    out[...] = normalised(x, weight, eps)
