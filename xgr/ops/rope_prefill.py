"""Prefill: q/k norm, rotary embedding and the K/V write of packed prompt tokens."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np

from xgr.ops import layouts
from xgr.ops.compare import both, close, either, exact
from xgr.ops.dtype import MODEL_DTYPES, dtype
from xgr.ops.spec import Arg, Case, OpSpec, Problem, Scalar, Values


def flops(problem: Problem) -> int:
    """Floating point operations."""
    a = problem.sizes
    return 6 * a["N"] * (a["H"] + a["G"]) * a["d"]


def bytes_moved(problem: Problem) -> int:
    """Least bytes to move."""
    a, item = problem.sizes, dtype(problem.dtype).itemsize
    each = 2 * (a["H"] + 2 * a["G"]) * a["d"] + a.get("h", 0)
    return item * a["N"] * each


def cases() -> Iterable[Case]:
    """With and without norms, cached prefixes, head sizes and groups."""
    base = {"N": 24, "T": 60, "H": 4, "G": 2, "d": 64, "B": 3}
    case = partial(layouts.case, "rope_prefill", base)
    for kind in MODEL_DTYPES:
        yield case(kind, norm=True)
        yield case(kind, norm=False, cached=True, strided=True)
        yield case(kind, norm=True, hidden=40)
    yield case("bfloat16", norm=False, cached=True, hidden=1025)
    yield case(norm=False, hidden=64, strided=True)
    for size in (16, 96, 128, 256):
        yield case("bfloat16", T=20, B=1, d=size, norm=True)
    for heads, groups in ((3, 3), (16, 1), (12, 4)):
        yield case("bfloat16", T=20, B=1, H=heads, G=groups, norm=True)
    yield case("bfloat16", N=2, T=8, B=1, H=32, G=8, norm=True, hidden=40)
    for count in (1, 33, 129):
        yield case(N=count, T=count, B=1, prompt="full", norm=True)
    yield case(norm=True, prompt="empty")
    yield case(norm=True, cached=True, gain=1000)


def build(case: Case) -> Values:
    """Host inputs of a case; rows of nobody are NaN."""
    rng = np.random.default_rng(case.seed)
    batch = layouts.prompts(case, rng)
    batch |= layouts.queries(case, batch, rng)
    qkv = layouts.heads(rng, case, case.sizes["N"])
    nobody = np.arange(case.sizes["N"]) >= batch["q_start"][-1]
    qkv[nobody] = np.nan
    return {
        "qkv": qkv,
        **layouts.stream(rng, case, nobody),
        **layouts.rotation(rng, case, max(1, int(batch["prompt_len"].max()))),
        **batch,
        "k": layouts.normal(rng, case, "T G d"),
        "v": layouts.normal(rng, case, "T G d"),
        "eps": 1e-6,
    }


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
        Arg("hidden", "N h", optional=True),
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
    cases=cases,
    build=build,
    compare=both(close("out", "k"), either("hidden", close("v"), exact("v"))),
    derived={
        "B1": lambda a: a["B"] + 1,
        "F": lambda a: a["d"] // 2,
        "Q": lambda a: (a["H"] + 2 * a["G"]) * a["d"],
    },
    implied={"H": lambda a: a["Q"] // a["d"] - 2 * a["G"]},
    tier="plain",
)
