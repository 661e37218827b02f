"""RMS normalisation, with the residual added in place when given."""

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
    return 4 * a["N"] * a["h"]


def bytes_moved(problem: Problem) -> int:
    """Least bytes to move."""
    a, item = problem.sizes, dtype(problem.dtype).itemsize
    return 2 * item * a["N"] * a["h"]


def cases() -> Iterable[Case]:
    """With and without residual; rows that are huge, tiny and zero."""
    case = partial(layouts.case, "rms_norm", {"N": 9, "h": 64})
    for kind in MODEL_DTYPES:
        for residual in (False, True):
            yield case(kind, residual=residual)
        yield case(kind, residual=True, strided=True)
    for size in (1, 100, 256, 1025):
        yield case("bfloat16", h=size, residual=True)
    for count in (0, 1, 33):
        yield case(N=count, residual=True)
    yield case(residual=False, gain=10_000)
    yield case(residual=False, gain=0)


def build(case: Case) -> Values:
    """Host inputs of a case."""
    rng = np.random.default_rng(case.seed)
    values: Values = {
        "x": layouts.normal(rng, case, "N h", gain=case.flags.get("gain", 1)),
        "weight": layouts.normal(rng, case, "h"),
        "eps": 1e-6,
    }
    if case.flags["residual"]:
        values["residual"] = layouts.normal(rng, case, "N h")
    return values


SPEC = OpSpec(
    name="rms_norm",
    doc=(
        "With residual: residual += x, then out = residual * rsqrt(mean(residual^2) + eps) "
        "* weight; else of x. Mean and rsqrt in float32 (Zhang & Sennrich 2019)."
    ),
    args=(
        Arg("x", "N h"),
        Arg("weight", "h"),
        Arg("residual", "N h", role="inout", optional=True),
        Arg("out", "N h", role="out"),
    ),
    scalars=(Scalar("eps", "float"),),
    flops=flops,
    bytes=bytes_moved,
    cases=cases,
    build=build,
    compare=close("out", "residual"),
    tier="plain",
)
