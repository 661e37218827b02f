"""Matrix product with the transposed weight, bias added when given."""

from __future__ import annotations

from xgr.ops.dtype import dtype
from xgr.ops.spec import Arg, OpSpec, Problem


def flops(problem: Problem) -> int:
    """Floating point operations."""
    a = problem.sizes
    return 2 * a["N"] * a["O"] * a["I"]


def bytes_moved(problem: Problem) -> int:
    """Least bytes to move."""
    a, item = problem.sizes, dtype(problem.dtype).itemsize
    return item * (a["N"] * a["I"] + a["O"] * a["I"] + a["N"] * a["O"])


SPEC = OpSpec(
    name="linear",
    doc=(
        "out[n] = weight . x[n] + bias, weight stored [O, I] as in checkpoints; "
        "accumulation in float32 or wider."
    ),
    args=(
        Arg("x", "N I"),
        Arg("weight", "O I"),
        Arg("bias", "O", optional=True),
        Arg("out", "N O", role="out"),
    ),
    scalars=(),
    flops=flops,
    bytes=bytes_moved,
    cases=lambda: (),
    build=lambda case: {},
    compare=lambda *_: (),
    tier="plain",
)
