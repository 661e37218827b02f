"""Attention of packed prompts over their own keys, causal or not."""

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
    return 4 * a["N"] * a["H"] * a["d"] * a["T"] // max(1, a["B"])


def bytes_moved(problem: Problem) -> int:
    """Least bytes to move."""
    a, item = problem.sizes, dtype(problem.dtype).itemsize
    return item * a["d"] * 2 * (a["T"] * a["G"] + a["N"] * a["H"])


def cases() -> Iterable[Case]:
    """Causal and not, bias, cached prefixes, lengths on both sides of every tile."""
    base = {"N": 24, "H": 4, "G": 2, "d": 64, "T": 60, "B": 3}
    case = partial(layouts.case, "prefill_attention", base)
    for kind in MODEL_DTYPES:
        yield case(kind, causal=True)
        yield case(kind, causal=False, strided=True)
    for causal in (True, False):
        yield case(causal=causal, cached=True)
        yield case(causal=causal, cached=True, buckets=32, B=2)
        yield case("bfloat16", causal=causal, buckets=32)
        yield case(causal=causal, gain=50)
    for count in (1, 31, 32, 33, 127, 128, 129):
        yield case("bfloat16", N=count, T=count, B=1, H=2, G=1, causal=True, prompt="full")
    yield case(N=150, T=200, B=1, buckets=16, max_distance=64, causal=False, prompt="full")
    for size in (16, 96, 128, 256):
        yield case("bfloat16", T=20, d=size, B=1, causal=True)
    for heads, groups in ((3, 3), (16, 1), (12, 4)):
        yield case("bfloat16", T=20, H=heads, G=groups, B=1, causal=True)
    yield case(prompt="empty", causal=True)


def build(case: Case) -> Values:
    """Host inputs of a case; rows of nobody and keys of no prompt are NaN."""
    rng, a = np.random.default_rng(case.seed), case.sizes
    batch = layouts.prompts(case, rng)
    batch |= layouts.queries(case, batch, rng)
    q = layouts.normal(rng, case, "N H d", gain=case.flags.get("gain", 1))
    k, v = layouts.normal(rng, case, "T G d"), layouts.normal(rng, case, "T G d")
    q[batch["q_start"][-1] :] = np.nan
    k[layouts.outside(batch, a["T"])] = v[layouts.outside(batch, a["T"])] = np.nan
    values: Values = {"q": q, "k": k, "v": v, **batch, "causal": case.flags["causal"]}
    buckets = int(case.flags.get("buckets", 0))
    if buckets:
        values["bias"] = rng.standard_normal((buckets, a["H"])).astype(np.float32)
    distance = case.flags.get("max_distance", 128)
    return {**values, "max_distance": distance, "scale": a["d"] ** -0.5}


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
    cases=cases,
    build=build,
    compare=close("out"),
    derived={"B1": lambda a: a["B"] + 1},
)
