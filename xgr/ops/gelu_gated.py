"""Gated GELU of a fused projection, as T5 v1.1."""

from __future__ import annotations

from xgr.ops.dtype import dtype
from xgr.ops.spec import Arg, OpSpec, Problem


def flops(problem: Problem) -> int:
    """Floating point operations."""
    a = problem.sizes
    return 10 * a["N"] * a["I"]


def bytes_moved(problem: Problem) -> int:
    """Least bytes to move."""
    a, item = problem.sizes, dtype(problem.dtype).itemsize
    return 3 * item * a["N"] * a["I"]


SPEC = OpSpec(
    name="gelu_gated",
    doc=("gate_up[n] = [gate (I) | up (I)]; out = gelu_tanh(gate) * up."),
    args=(
        Arg("gate_up", "N I2"),
        Arg("out", "N I", role="out"),
    ),
    scalars=(),
    flops=flops,
    bytes=bytes_moved,
    cases=lambda: (),
    build=lambda case: {},
    compare=lambda *_: (),
    derived={"I2": lambda a: 2 * a["I"]},
    tier="plain",
)
