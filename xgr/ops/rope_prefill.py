"""Prefill: q/k norm, rotary embedding and the K/V write of packed prompt tokens."""

from __future__ import annotations

from xgr.ops.dtype import dtype
from xgr.ops.spec import Arg, OpSpec, Problem, Scalar


def flops(problem: Problem) -> int:
    """Floating point operations."""
    a = problem.sizes
    return 6 * a["N"] * (a["H"] + a["G"]) * a["d"]


def bytes_moved(problem: Problem) -> int:
    """Least bytes to move."""
    a, item = problem.sizes, dtype(problem.dtype).itemsize
    return 2 * item * a["N"] * (a["H"] + 2 * a["G"]) * a["d"]


SPEC = OpSpec(
    name="rope_prefill",
    doc=(
        "As rope_kv for packed tokens: token i of request b (row q_start[b] + i) stands at "
        "position prompt_len[b] - (q_start[b+1] - q_start[b]) + i and its k and v go to row "
        "prompt_start[b] + position of the arena; q goes to out. Rows from q_start[B] on: "
        "out = 0."
    ),
    args=(
        Arg("qkv", "N Q"),
        Arg("cos", "P F", "float32"),
        Arg("sin", "P F", "float32"),
        Arg("q_norm", "d", optional=True),
        Arg("k_norm", "d", optional=True),
        Arg("q_start", "B1", "int32"),
        Arg("prompt_start", "B", "int32"),
        Arg("prompt_len", "B", "int32"),
        Arg("k", "T G d", role="inout"),
        Arg("v", "T G d", role="inout"),
        Arg("out", "N H d", role="out"),
    ),
    scalars=(Scalar("eps", "float"),),
    flops=flops,
    bytes=bytes_moved,
    cases=lambda: (),
    build=lambda case: {},
    compare=lambda *_: (),
    derived={
        "B1": lambda a: a["B"] + 1,
        "F": lambda a: a["d"] // 2,
        "Q": lambda a: (a["H"] + 2 * a["G"]) * a["d"],
    },
    tier="plain",
)
