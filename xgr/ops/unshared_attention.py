"""Unshared stage: each live row attends to its own beam's tokens."""

from __future__ import annotations

from xgr.ops.dtype import dtype
from xgr.ops.spec import Arg, OpSpec, Problem, Scalar


def flops(problem: Problem) -> int:
    """Floating point operations."""
    a = problem.sizes
    return 4 * a["R"] * a["H"] * a["d"] * a["S"]


def bytes_moved(problem: Problem) -> int:
    """Least bytes to move."""
    a, item = problem.sizes, dtype(problem.dtype).itemsize
    return item * a["R"] * a["d"] * (2 * a["S"] * a["G"] + 2 * a["H"]) + 4 * a["R"] * a["H"]


SPEC = OpSpec(
    name="unshared_attention",
    doc=(
        "Attention of each live row over its valid slots 0 .. step - 1: `step` counts the "
        "slots that are read, so a forward that wrote slot s passes s + 1. ancestors[r, j] "
        "is the physical row whose slot j holds row r's token j (identity when absent). "
        "bias[h, j] is added to the scaled score of slot j. step = 0, dead rows and rows of "
        "nobody get (0, -inf)."
    ),
    args=(
        Arg("q", "R H d"),
        Arg("k", "R S G d"),
        Arg("v", "R S G d"),
        Arg("row_start", "B1", "int32"),
        Arg("live", "B", "int32"),
        Arg("ancestors", "R S", "int32", optional=True),
        Arg("bias", "H S", "float32", optional=True),
        Arg("out", "R H d", role="out"),
        Arg("lse", "R H", "float32", role="out"),
    ),
    scalars=(Scalar("step", "int"), Scalar("scale", "float")),
    flops=flops,
    bytes=bytes_moved,
    cases=lambda: (),
    build=lambda case: {},
    compare=lambda *_: (),
    derived={"B1": lambda a: a["B"] + 1},
)
