"""Gated GELU by blocks of rows that stay in the cache."""

from __future__ import annotations

import math

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


@np.errstate(all="ignore")  # the cube may overflow: tanh of it is then 1
def _launch(*, gate_up: Array, out: Array) -> None:
    rows, size = out.shape
    block = block_rows(size, BLOCK)
    for lo in range(0, rows, block):
        part = slice(lo, lo + block)
        gate = scratch.float32("gate", gate_up[part, :size])
        up = scratch.float32("up", gate_up[part, size:])
        target = out[part]
        _gate(scratch("inner", gate.shape), gate, up, scratch.target("out", target), target)


def _gate(inner: Floats, gate: Floats, up: Floats, product: Floats, out: Array) -> None:
    # gelu(x) = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))
    np.multiply(gate, gate, out=inner)
    inner *= 0.044715 * math.sqrt(2 / math.pi)
    inner += math.sqrt(2 / math.pi)
    inner *= gate
    np.tanh(inner, out=inner)
    inner += 1
    inner *= 0.5
    np.multiply(gate, inner, out=product)
    product *= up
    if product is not out:
        out[...] = product
