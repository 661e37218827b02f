"""Definition of linear_swiglu."""

from __future__ import annotations

import numpy as np

from xgr.backends.cpu_ref.arrays import Array
from xgr.backends.cpu_ref.reference.rotary import inverse_rms
from xgr.backends.cpu_ref.reference.swiglu import swiglu
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare."""
    return linear_swiglu


@np.errstate(invalid="ignore")  # a NaN is the caller's, and flows
def linear_swiglu(*, x: Array, weight: Array, out: Array, eps: float) -> None:
    """Input x [N, h], weight [2 I, h]."""
    product = x.astype(np.float64) @ weight.astype(np.float64).T  # [N, 2 I]
    swiglu(gate_up=product * inverse_rms(x, eps), out=out)
