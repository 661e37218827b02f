"""Log-sum-exp of the whole head's logits without writing them."""

from __future__ import annotations

from xgr.ops.dtype import dtype
from xgr.ops.spec import Arg, OpSpec, Problem


def flops(problem: Problem) -> int:
    """Floating point operations."""
    a = problem.sizes
    return 2 * a["R"] * a["V"] * a["h"]


def bytes_moved(problem: Problem) -> int:
    """Least bytes to move."""
    a, item = problem.sizes, dtype(problem.dtype).itemsize
    return item * a["h"] * (a["R"] + a["V"]) + 4 * a["R"]


SPEC = OpSpec(
    name="linear_lse",
    doc=(
        "lse[r] = log(sum over all V rows of exp(hidden[r] . head[v])), natural log; "
        "padding rows of the head included."
    ),
    args=(
        Arg("hidden", "R h"),
        Arg("head", "V h"),
        Arg("lse", "R", "float32", role="out"),
    ),
    scalars=(),
    flops=flops,
    bytes=bytes_moved,
    cases=lambda: (),
    build=lambda case: {},
    compare=lambda *_: (),
    tier="plain",
)
