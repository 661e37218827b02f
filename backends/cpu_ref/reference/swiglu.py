"""Definition of swiglu."""

from __future__ import annotations

import numpy as np

from xgr.backends.cpu_ref.arrays import Array
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare."""
    return swiglu


@np.errstate(over="ignore", invalid="ignore")  # exp(-gate) of a gate far below 0
def swiglu(*, gate_up: Array, out: Array) -> None:
    """gate_up [N, 2 I] is gate, then up."""
    gate, up = np.split(gate_up.astype(np.float64), 2, axis=1)  # [N, I] each
    out[...] = gate / (1 + np.exp(-gate)) * up
