"""Decode: q/k norm, rotary embedding and the K/V write of live rows, in one op."""

from __future__ import annotations

from xgr.ops.dtype import dtype
from xgr.ops.spec import Arg, OpSpec, Problem, Scalar


def flops(problem: Problem) -> int:
    """Floating point operations."""
    a = problem.sizes
    return 6 * a["R"] * (a["H"] + a["G"]) * a["d"]


def bytes_moved(problem: Problem) -> int:
    """Least bytes to move."""
    a, item = problem.sizes, dtype(problem.dtype).itemsize
    return 2 * item * a["R"] * (a["H"] + 2 * a["G"]) * a["d"]


SPEC = OpSpec(
    name="rope_kv",
    doc=(
        "qkv[r] holds H query, G key and G value heads. For live rows: q and k heads are "
        "RMS-normalised over d (when q_norm / k_norm are given), rotated by the position "
        "prompt_len[b] + step (rotate-half form, as Llama and Qwen), q is written to "
        "out[r], k and v to slot `step` of the unshared cache. Dead rows: out = 0, cache "
        "untouched."
    ),
    args=(
        Arg("qkv", "R Q"),
        Arg("cos", "P F", "float32"),
        Arg("sin", "P F", "float32"),
        Arg("q_norm", "d", optional=True),
        Arg("k_norm", "d", optional=True),
        Arg("prompt_len", "B", "int32"),
        Arg("row_start", "B1", "int32"),
        Arg("live", "B", "int32"),
        Arg("k", "R S G d", role="inout"),
        Arg("v", "R S G d", role="inout"),
        Arg("out", "R H d", role="out"),
    ),
    scalars=(Scalar("step", "int"), Scalar("eps", "float")),
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
