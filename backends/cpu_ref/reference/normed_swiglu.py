"""Definition of normed_swiglu."""

from __future__ import annotations

import numpy as np

from xgr.backends.cpu_ref.arrays import Array
from xgr.backends.cpu_ref.reference.rotary import inverse_rms
from xgr.backends.cpu_ref.reference.swiglu import swiglu
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare."""
    return normed_swiglu


@np.errstate(invalid="ignore")  # a NaN is the caller's, and flows
def normed_swiglu(*, gate_up: Array, hidden: Array, out: Array, eps: float) -> None:
    """gate_up [N, 2 I] is gate, then up; hidden [N, h]."""
    swiglu(gate_up=gate_up.astype(np.float64) * inverse_rms(hidden, eps), out=out)
