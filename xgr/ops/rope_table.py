"""Cosines and sines of every position, once at load."""

from __future__ import annotations

from xgr.ops.spec import Arg, OpSpec, Problem, Scalar


def flops(problem: Problem) -> int:
    """Floating point operations."""
    a = problem.sizes
    return 3 * a["P"] * a["F"]


def bytes_moved(problem: Problem) -> int:
    """Least bytes to move."""
    a = problem.sizes
    return 8 * a["P"] * a["F"]


SPEC = OpSpec(
    name="rope_table",
    doc=(
        "cos[p, f] = scaling * cos(p * inv_freq[f]), sin likewise; the angle is a float32 "
        "product, as in HF transformers."
    ),
    args=(
        Arg("inv_freq", "F", "float32"),
        Arg("cos", "P F", "float32", role="out"),
        Arg("sin", "P F", "float32", role="out"),
    ),
    scalars=(Scalar("scaling", "float"),),
    flops=flops,
    bytes=bytes_moved,
    cases=lambda: (),
    build=lambda case: {},
    compare=lambda *_: (),
    tier="plain",
)
