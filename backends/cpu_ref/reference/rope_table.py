"""Definition of rope_table."""

from __future__ import annotations

import numpy as np

from xgr.backends.cpu_ref.arrays import Array
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare."""
    return rope_table


def rope_table(*, inv_freq: Array, cos: Array, sin: Array, scaling: float) -> None:
    """The angle is rounded to float32, as the checkpoints were trained; the rest is not."""
    for p in range(cos.shape[0]):
        angle = np.multiply(np.float32(p), inv_freq, dtype=np.float32).astype(np.float64)
        cos[p] = scaling * np.cos(angle)
        sin[p] = scaling * np.sin(angle)
