"""Decode: q/k norm, rotary embedding and the K/V write of live rows, in one op."""

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
    return 6 * a["R"] * (a["H"] + a["G"]) * a["d"]


def bytes_moved(problem: Problem) -> int:
    """Least bytes to move."""
    a, item = problem.sizes, dtype(problem.dtype).itemsize
    each = 2 * (a["H"] + 2 * a["G"]) * a["d"] + a.get("h", 0)
    return item * a["R"] * each


def cases() -> Iterable[Case]:
    """With and without norms, every slot, head sizes and groups."""
    base = {"R": 21, "S": 3, "H": 4, "G": 2, "d": 64, "B": 3}
    case = partial(layouts.case, "rope_kv", base)
    for kind in MODEL_DTYPES:
        yield case(kind, step=1, norm=True, spare=4)
        yield case(kind, step=2, norm=False, strided=True)
        yield case(kind, step=1, norm=True, hidden=40)
    for width in (1, 1024, 1025):
        yield case("bfloat16", R=7, step=0, norm=False, hidden=width)
    yield case(step=1, norm=False, hidden=64, strided=True)
    for size in (16, 96, 128, 256):
        yield case("bfloat16", R=7, d=size, step=0, norm=True)
    for heads, groups in ((3, 3), (16, 1), (12, 4)):
        yield case("bfloat16", R=7, H=heads, G=groups, step=1, norm=True)
    yield case("bfloat16", R=2, B=1, H=32, G=8, step=1, norm=True, hidden=40)
    for width in (1, 33, 129):
        yield case(R=width, B=1, step=0, norm=True)
    for width in (64, 513, 1025):
        yield case("bfloat16", R=width, H=1, G=1, d=16, B=1, step=0, norm=True)
    yield case(step=0, norm=False, live="none")
    yield case(step=0, norm=True, gain=1000)
    yield case(step=0, norm=True, prompt="empty", live="all")
    yield case("bfloat16", R=80, d=16, B=40, step=1, norm=True)
    yield case(step=1, norm=True, nan=True, live="all")


def build(case: Case) -> Values:
    """Host inputs of a case; dead rows are NaN, the last position is the table's last.

    With `nan`, so is the first live row; empty prompts leave position `step`.
    """
    rng, a = np.random.default_rng(case.seed), case.sizes
    step, batch = int(case.flags["step"]), layouts.rows(case, rng)
    longest = 1 if case.flags.get("prompt") == "empty" else 50
    prompt_len = rng.integers(0, longest, a["B"]).astype(np.int32)
    qkv = layouts.heads(rng, case, a["R"])
    dead = layouts.dead(batch, a["R"])
    qkv[dead] = np.nan
    if case.flags.get("nan"):
        qkv[0] = np.nan
    return {
        "qkv": qkv,
        **layouts.stream(rng, case, dead),
        **layouts.rotation(rng, case, int(prompt_len.max()) + step + 1),
        "prompt_len": prompt_len,
        **batch,
        "k": layouts.normal(rng, case, "R S G d"),
        "v": layouts.normal(rng, case, "R S G d"),
        "step": step,
        "eps": 1e-6,
    }


SPEC = OpSpec(
    name="rope_kv",
    doc=(
        "qkv[r] holds H query, G key and G value heads. For live rows: q and k heads are "
        "RMS-normalised over d (when q_norm / k_norm are given), rotated by the position "
        "prompt_len[b] + step (rotate-half form, as Llama and Qwen), q is written to "
        "out[r], k and v to slot `step` of the unshared cache. Dead rows: out = 0, cache "
        "untouched. With hidden, the rows that qkv is a product of, qkv[r] counts divided by "
        "sqrt(mean(hidden[r]^2) + eps): their norm comes behind the product."
    ),
    args=(
        Arg("qkv", "R Q"),
        Arg("cos", "P F", "float32"),
        Arg("sin", "P F", "float32"),
        Arg("q_norm", "d", optional=True),
        Arg("k_norm", "d", optional=True),
        Arg("hidden", "R h", optional=True),
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
