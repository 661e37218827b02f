"""Definition of gelu_gated."""

from __future__ import annotations

import numpy as np

from xgr.backends.cpu_ref.arrays import Array
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare."""
    return gelu_gated


@np.errstate(invalid="ignore")  # a NaN is the caller's, and flows
def gelu_gated(*, gate_up: Array, out: Array) -> None:
    """gate_up [N, 2 I] is gate, then up; GELU in its tanh form."""
    gate, up = np.split(gate_up.astype(np.float64), 2, axis=1)  # [N, I] each
    inner = np.sqrt(2 / np.pi) * (gate + 0.044715 * gate**3)
    out[...] = gate / 2 * (1 + np.tanh(inner)) * up
