"""Log-sum-exp of the whole head's logits without writing them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np

from xgr.ops import layouts
from xgr.ops.compare import close
from xgr.ops.dtype import MODEL_DTYPES, dtype
from xgr.ops.spec import Arg, Case, OpSpec, Problem, Values


def flops(problem: Problem) -> int:
    """Floating point operations."""
    a = problem.sizes
    return 2 * a["R"] * a["V"] * a["h"]


def bytes_moved(problem: Problem) -> int:
    """Least bytes to move."""
    a, item = problem.sizes, dtype(problem.dtype).itemsize
    return item * a["h"] * (a["R"] + a["V"]) + 4 * a["R"]


def cases() -> Iterable[Case]:
    """Heads around a tile, extreme logits."""
    case = partial(layouts.case, "linear_lse", {"R": 17, "V": 100, "h": 32})
    for kind in MODEL_DTYPES:
        yield case(kind)
        yield case(kind, strided=True)
    for vocab in (1, 127, 128, 129, 1025, 20_000):
        yield case("bfloat16", V=vocab)
    for count in (1, 31, 33, 129):
        yield case("bfloat16", R=count, h=64)
    for count in (63, 64, 65, 127, 128, 511, 512, 513, 1023, 1024, 1025):
        yield case("bfloat16", R=count, V=20, h=16)
    # a vocabulary beyond 2^17
    yield case("bfloat16", R=3, V=300_000, h=4)
    yield case(nan=True)
    yield case(gain=100)
    yield case("bfloat16", V=5000, gain=20)


def build(case: Case) -> Values:
    """Host inputs of a case; with `gain` one logit stands far above the others.

    With `nan`, the first row is NaN.
    """
    rng = np.random.default_rng(case.seed)
    hidden = layouts.normal(rng, case, "R h", gain=case.flags.get("gain", 1))
    if case.flags.get("nan"):
        hidden[0] = np.nan
    return {
        "hidden": hidden,
        "head": layouts.normal(rng, case, "V h", gain=case.sizes["h"] ** -0.5),
    }


SPEC = OpSpec(
    name="linear_lse",
    doc=(
        "lse[r] = log(sum over all V rows of exp(hidden[r] . head[v])), natural log; "
        "padding rows of the head included."
    ),
    args=(
        Arg("hidden", "R h"),
        Arg("head", "V h"),
        Arg("lse", "R", "float32", role="out"),
    ),
    scalars=(),
    flops=flops,
    bytes=bytes_moved,
    cases=cases,
    build=build,
    compare=close("lse"),
    tier="plain",
)
