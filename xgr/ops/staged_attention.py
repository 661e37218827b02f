"""Shared stage, unshared stage and their merge as one op."""

from __future__ import annotations

from xgr.ops.dtype import dtype
from xgr.ops.spec import Arg, OpSpec, Problem, Scalar


def flops(problem: Problem) -> int:
    """Floating point operations."""
    a = problem.sizes
    return 4 * a["R"] * a["H"] * a["d"] * (a["S"] + a["T"] // max(1, a["B"]))


def bytes_moved(problem: Problem) -> int:
    """Least bytes to move."""
    a, item = problem.sizes, dtype(problem.dtype).itemsize
    return (
        item * a["d"] * (2 * a["T"] * a["G"] + 2 * a["R"] * (a["H"] + a["S"] * a["G"]))
        + 4 * a["R"] * a["H"]
    )


SPEC = OpSpec(
    name="staged_attention",
    doc=(
        "One softmax of each live row over its request's prompt and its own slots 0 .. step "
        "- 1. Equals shared_attention, unshared_attention and merge_attention in a row; a "
        "backend may fuse them."
    ),
    args=(
        Arg("q", "R H d"),
        Arg("k", "T G d"),
        Arg("v", "T G d"),
        Arg("k_unshared", "R S G d"),
        Arg("v_unshared", "R S G d"),
        Arg("prompt_start", "B", "int32"),
        Arg("prompt_len", "B", "int32"),
        Arg("row_start", "B1", "int32"),
        Arg("live", "B", "int32"),
        Arg("ancestors", "R S", "int32", optional=True),
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
    composed_of=("shared_attention", "unshared_attention", "merge_attention"),
)
