"""Shared stage, unshared stage and their merge as one op."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np

from xgr.ops import layouts
from xgr.ops.compare import close
from xgr.ops.dtype import MODEL_DTYPES, dtype
from xgr.ops.spec import Arg, Case, OpSpec, Problem, Scalar, Values
from xgr.ops.unshared_attention import unseen


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


def cases() -> Iterable[Case]:
    """Both stages, either one empty, and neither."""
    base = {"R": 21, "H": 4, "G": 2, "d": 64, "T": 60, "S": 3, "B": 3}
    case = partial(layouts.case, "staged_attention", base)
    for kind in MODEL_DTYPES:
        yield case(kind, step=2, spare=4)
        yield case(kind, step=3, ancestors=True, strided=True)
    for step in range(4):
        yield case(step=step, ancestors=True, live="all")
    for width in (1, 31, 32, 33, 127, 128, 129):
        yield case("bfloat16", R=width, T=33, B=1, step=2, ancestors=True)
    for width in layouts.WIDTHS:
        yield case("bfloat16", R=width, H=1, G=1, d=16, T=8, S=2, B=1, step=1, ancestors=True)
    for tokens in (1, 127, 129, 300):
        yield case("bfloat16", R=5, T=tokens, B=1, step=1, prompt="full")
    for size in (16, 96, 128, 256):
        yield case("bfloat16", R=7, d=size, step=2)
    for heads, groups in ((3, 3), (16, 1)):
        yield case("bfloat16", R=7, H=heads, G=groups, step=2)
    yield case(step=3, gain=50)
    yield case(step=3, live="none")
    yield case(step=0, prompt="empty")
    yield case(step=2, prompt="empty", ancestors=True)
    # more rows times heads than a device has cores, in requests of two beams
    yield case("bfloat16", R=80, H=8, d=16, T=120, B=40, step=2)
    yield case(step=2, nan=True, live="all")


def build(case: Case) -> Values:
    """Host inputs of a case; what no live row sees is NaN.

    With `nan`, so are the last value of the first prompt and own values of the last request.
    """
    rng, a = np.random.default_rng(case.seed), case.sizes
    step = int(case.flags["step"])
    batch = {**layouts.rows(case, rng), **layouts.prompts(case, rng)}
    q = layouts.normal(rng, case, "R H d", gain=case.flags.get("gain", 1))
    k, v = layouts.normal(rng, case, "T G d"), layouts.normal(rng, case, "T G d")
    k_own, v_own = layouts.normal(rng, case, "R S G d"), layouts.normal(rng, case, "R S G d")
    q[layouts.dead(batch, a["R"])] = np.nan
    k[layouts.outside(batch, a["T"])] = v[layouts.outside(batch, a["T"])] = np.nan
    ancestors = layouts.ancestors(case, batch, rng) if case.flags.get("ancestors") else None
    hidden = unseen(case, batch, ancestors)
    k_own[hidden] = v_own[hidden] = np.nan
    if case.flags.get("nan"):
        v[batch["prompt_start"][0] + batch["prompt_len"][0] - 1] = np.nan
        v_own[batch["row_start"][-2] :, 0] = np.nan
    values: Values = {"q": q, "k": k, "v": v, "k_unshared": k_own, "v_unshared": v_own, **batch}
    if ancestors is not None:
        values["ancestors"] = ancestors
    return {**values, "step": step, "scale": a["d"] ** -0.5}


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
    cases=cases,
    build=build,
    compare=close("out", "lse"),
    derived={"B1": lambda a: a["B"] + 1},
    composed_of=("shared_attention", "unshared_attention", "merge_attention"),
)
