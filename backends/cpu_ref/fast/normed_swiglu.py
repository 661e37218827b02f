"""SwiGLU gate of a product whose norm is behind it, by blocks of rows that stay in the cache."""

from __future__ import annotations

import numpy as np

from xgr.backends.cpu_ref.arrays import Array
from xgr.backends.cpu_ref.fast.rms_norm import inverse_rms
from xgr.backends.cpu_ref.fast.swiglu import BLOCK, gated
from xgr.backends.cpu_ref.rows import block_rows
from xgr.backends.cpu_ref.scratch import scratch
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare."""
    return _launch


@np.errstate(all="ignore")  # exp(-gate) may overflow: the gate is then 0
def _launch(*, gate_up: Array, hidden: Array, out: Array, eps: float) -> None:
    rows, size = out.shape
    scale = inverse_rms(scratch.float32("hidden", hidden), eps)[:, None]
    block = block_rows(size, BLOCK)
    for lo in range(0, rows, block):
        part = slice(lo, lo + block)
        both = scratch("both", gate_up[part].shape)
        np.multiply(scratch.float32("gate_up", gate_up[part]), scale[part], out=both)
        gated(both[:, :size], both[:, size:], out[part])
