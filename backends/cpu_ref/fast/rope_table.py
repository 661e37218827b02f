"""Cosines and sines of every position; once at load, so in float64 from the float32 angle."""

from __future__ import annotations

import numpy as np

from xgr.backends.cpu_ref.arrays import Array
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Bind to a problem."""
    return _launch


def _launch(*, inv_freq: Array, cos: Array, sin: Array, scaling: float) -> None:
    positions = np.arange(cos.shape[0], dtype=np.float32)
    angle = (positions[:, None] * inv_freq).astype(np.float64)
    cos[...] = scaling * np.cos(angle)
    sin[...] = scaling * np.sin(angle)
