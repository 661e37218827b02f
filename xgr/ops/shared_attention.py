"""Shared stage: every live row attends to all of its request's prompt."""

from __future__ import annotations

from xgr.ops.dtype import dtype
from xgr.ops.spec import Arg, OpSpec, Problem, Scalar


def flops(problem: Problem) -> int:
    """Floating point operations."""
    a = problem.sizes
    return 4 * a["R"] * a["H"] * a["d"] * a["T"] // max(1, a["B"])


def bytes_moved(problem: Problem) -> int:
    """Least bytes to move."""
    a, item = problem.sizes, dtype(problem.dtype).itemsize
    return item * a["d"] * (2 * a["T"] * a["G"] + 2 * a["R"] * a["H"]) + 4 * a["R"] * a["H"]


SPEC = OpSpec(
    name="shared_attention",
    doc=(
        "Attention of each live row of request b over k/v[prompt_start[b] : prompt_start[b] "
        "+ prompt_len[b]]. out is normalised within the stage; lse is the natural "
        "log-sum-exp of the scaled scores. Dead rows, rows of nobody and empty prompts get "
        "(0, -inf). GQA: query head h reads kv head h // (H // G)."
    ),
    args=(
        Arg("q", "R H d"),
        Arg("k", "T G d"),
        Arg("v", "T G d"),
        Arg("prompt_start", "B", "int32"),
        Arg("prompt_len", "B", "int32"),
        Arg("row_start", "B1", "int32"),
        Arg("live", "B", "int32"),
        Arg("out", "R H d", role="out"),
        Arg("lse", "R H", "float32", role="out"),
    ),
    scalars=(Scalar("scale", "float"),),
    flops=flops,
    bytes=bytes_moved,
    cases=lambda: (),
    build=lambda case: {},
    compare=lambda *_: (),
    derived={"B1": lambda a: a["B"] + 1},
)
