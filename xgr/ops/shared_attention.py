"""Shared stage: every live row attends to all of its request's prompt."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np

from xgr.ops import layouts
from xgr.ops.compare import close
from xgr.ops.dtype import MODEL_DTYPES, dtype
from xgr.ops.spec import Arg, Case, OpSpec, Problem, Scalar, Values


def flops(problem: Problem) -> int:
    """Floating point operations."""
    a = problem.sizes
    return 4 * a["R"] * a["H"] * a["d"] * a["T"] // max(1, a["B"])


def bytes_moved(problem: Problem) -> int:
    """Least bytes to move."""
    a, item = problem.sizes, dtype(problem.dtype).itemsize
    return item * a["d"] * (2 * a["T"] * a["G"] + 2 * a["R"] * a["H"]) + 4 * a["R"] * a["H"]


def cases() -> Iterable[Case]:
    """Widths, prompts, head sizes and groups on both sides of every tile."""
    case = partial(
        layouts.case, "shared_attention", {"R": 21, "H": 4, "G": 2, "d": 64, "T": 60, "B": 3}
    )
    for kind in MODEL_DTYPES:
        yield case(kind, spare=4)
        yield case(kind, live="all", strided=True)
    for width in (1, 31, 32, 33, 127, 128, 129):
        yield case("bfloat16", R=width, T=33, B=1)
    for width in layouts.WIDTHS:
        yield case("bfloat16", R=width, H=1, G=1, d=16, T=8, B=1)
    for tokens in (1, 127, 128, 129, 300):
        yield case("bfloat16", R=5, T=tokens, B=1, prompt="full")
    for size in (16, 96, 128, 256):
        yield case("bfloat16", R=7, d=size, B=2, spare=1)
    for heads, groups in ((3, 3), (8, 1), (16, 1), (12, 4)):
        yield case("bfloat16", R=7, H=heads, G=groups, B=2)
    yield case(gain=50)
    yield case(live="none")
    yield case(prompt="empty")
    yield case(R=9, T=12, B=5)
    # more rows times heads than a device has cores, in requests of two beams
    yield case("bfloat16", R=80, H=8, d=16, T=120, B=40)
    yield case(nan=True, live="all")


def build(case: Case) -> Values:
    """Host inputs of a case; dead queries and keys of no prompt are NaN.

    With `nan`, so are the last value of the first prompt and the queries of the last request.
    """
    rng, a = np.random.default_rng(case.seed), case.sizes
    batch = {**layouts.rows(case, rng), **layouts.prompts(case, rng)}
    q = layouts.normal(rng, case, "R H d", gain=case.flags.get("gain", 1))
    k, v = layouts.normal(rng, case, "T G d"), layouts.normal(rng, case, "T G d")
    q[layouts.dead(batch, a["R"])] = np.nan
    k[layouts.outside(batch, a["T"])] = v[layouts.outside(batch, a["T"])] = np.nan
    if case.flags.get("nan"):
        v[batch["prompt_start"][0] + batch["prompt_len"][0] - 1] = np.nan
        q[batch["row_start"][-2] :] = np.nan
    return {"q": q, "k": k, "v": v, **batch, "scale": a["d"] ** -0.5}


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
    cases=cases,
    build=build,
    compare=close("out", "lse"),
    derived={"B1": lambda a: a["B"] + 1},
)
