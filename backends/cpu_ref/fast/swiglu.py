"""SwiGLU gate by blocks of rows that stay in the cache."""

from __future__ import annotations

import numpy as np

from xgr.backends.cpu_ref.arrays import Array, Floats
from xgr.backends.cpu_ref.rows import block_rows
from xgr.backends.cpu_ref.scratch import scratch
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher

BLOCK = 1 << 15


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare."""
    return _launch


@np.errstate(all="ignore")  # exp(-gate) may overflow: the gate is then 0
def _launch(*, gate_up: Array, out: Array) -> None:
    rows, size = out.shape
    block = block_rows(size, BLOCK)
    for lo in range(0, rows, block):
        part = slice(lo, lo + block)
        halves = gate_up[part, :size], gate_up[part, size:]
        gated(scratch.float32("gate", halves[0]), scratch.float32("up", halves[1]), out[part])


def gated(gate: Floats, up: Floats, out: Array) -> None:
    """Gate and up of some rows -> their output."""
    sigmoid, product = scratch("sigmoid", gate.shape), scratch.target("out", out)
    np.negative(gate, out=sigmoid)
    np.exp(sigmoid, out=sigmoid)
    sigmoid += 1
    np.divide(gate, sigmoid, out=product)
    product *= up
    if product is not out:
        out[...] = product
