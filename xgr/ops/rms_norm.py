"""RMS normalisation, with the residual added in place when given."""

from __future__ import annotations

from xgr.ops.dtype import dtype
from xgr.ops.spec import Arg, OpSpec, Problem, Scalar


def flops(problem: Problem) -> int:
    """Floating point operations."""
    a = problem.sizes
    return 4 * a["N"] * a["h"]


def bytes_moved(problem: Problem) -> int:
    """Least bytes to move."""
    a, item = problem.sizes, dtype(problem.dtype).itemsize
    return 2 * item * a["N"] * a["h"]


SPEC = OpSpec(
    name="rms_norm",
    doc=(
        "With residual: residual += x, then out = residual * rsqrt(mean(residual^2) + eps) "
        "* weight; else of x. Mean and rsqrt in float32 (Zhang & Sennrich 2019)."
    ),
    args=(
        Arg("x", "N h"),
        Arg("weight", "h"),
        Arg("residual", "N h", role="inout", optional=True),
        Arg("out", "N h", role="out"),
    ),
    scalars=(Scalar("eps", "float"),),
    flops=flops,
    bytes=bytes_moved,
    cases=lambda: (),
    build=lambda case: {},
    compare=lambda *_: (),
    tier="plain",
)
