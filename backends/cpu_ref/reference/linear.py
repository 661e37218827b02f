"""Definition of linear."""

from __future__ import annotations

import numpy as np

from xgr.backends.cpu_ref.arrays import Array
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare."""
    return linear


@np.errstate(invalid="ignore")  # a NaN is the caller's, and flows
def linear(*, x: Array, weight: Array, out: Array, bias: Array | None = None) -> None:
    """Input x [N, I], weight [O, I], bias [O]."""
    product = x.astype(np.float64) @ weight.astype(np.float64).T  # [N, O]
    out[...] = product if bias is None else product + bias.astype(np.float64)
