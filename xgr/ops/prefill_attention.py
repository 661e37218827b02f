"""Attention of packed prompts over their own keys, causal or not."""

from __future__ import annotations

from xgr.ops.dtype import dtype
from xgr.ops.spec import Arg, OpSpec, Problem, Scalar


def flops(problem: Problem) -> int:
    """Floating point operations."""
    a = problem.sizes
    return 4 * a["N"] * a["H"] * a["d"] * a["T"] // max(1, a["B"])


def bytes_moved(problem: Problem) -> int:
    """Least bytes to move."""
    a, item = problem.sizes, dtype(problem.dtype).itemsize
    return item * a["d"] * 2 * (a["T"] * a["G"] + a["N"] * a["H"])


SPEC = OpSpec(
    name="prefill_attention",
    doc=(
        "Queries of request b are rows q_start[b] .. q_start[b+1] - 1; its keys are "
        "k/v[prompt_start[b] : prompt_start[b] + prompt_len[b]]. The queries are the last "
        "ones of the prompt: query i stands at position prompt_len[b] - (q_start[b+1] - "
        "q_start[b]) + i, so a cached prefix is simply more keys. causal: a query sees keys "
        "up to its own position. bias[bucket, h]: T5 relative position buckets (Raffel et "
        "al. 2020; bidirectional unless causal) with max_distance, added to the scaled "
        "scores. Rows from q_start[B] on get 0."
    ),
    args=(
        Arg("q", "N H d"),
        Arg("k", "T G d"),
        Arg("v", "T G d"),
        Arg("q_start", "B1", "int32"),
        Arg("prompt_start", "B", "int32"),
        Arg("prompt_len", "B", "int32"),
        Arg("bias", "NB H", "float32", optional=True),
        Arg("out", "N H d", role="out"),
    ),
    scalars=(
        Scalar("causal", "bool", flag=True),
        Scalar("max_distance", "int"),
        Scalar("scale", "float"),
    ),
    flops=flops,
    bytes=bytes_moved,
    cases=lambda: (),
    build=lambda case: {},
    compare=lambda *_: (),
    derived={"B1": lambda a: a["B"] + 1},
)
