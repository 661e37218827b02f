"""Matrix product with the transposed weight, bias added when given."""

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
    return 2 * a["N"] * a["O"] * a["I"]


def bytes_moved(problem: Problem) -> int:
    """Least bytes to move."""
    a, item = problem.sizes, dtype(problem.dtype).itemsize
    return item * (a["N"] * a["I"] + a["O"] * a["I"] + a["N"] * a["O"])


def cases() -> Iterable[Case]:
    """Sizes around a tile, one row, one column, bias."""
    case = partial(layouts.case, "linear", {"N": 17, "I": 48, "O": 40})
    for kind in MODEL_DTYPES:
        for bias in (False, True):
            yield case(kind, bias=bias)
        yield case(kind, bias=True, strided=True)
    for count in (1, 31, 32, 33, 127, 128, 129):
        yield case("bfloat16", N=count, bias=False)
    for inner, outer in ((1, 1), (256, 65), (257, 128), (768, 256)):
        yield case("bfloat16", N=3, I=inner, O=outer, bias=True)
    yield case(N=0, bias=True)


def build(case: Case) -> Values:
    """Host inputs of a case; weights of the usual scale, so that outputs are about 1."""
    rng = np.random.default_rng(case.seed)
    values: Values = {
        "x": layouts.normal(rng, case, "N I"),
        "weight": layouts.normal(rng, case, "O I", gain=case.sizes["I"] ** -0.5),
    }
    if case.flags["bias"]:
        values["bias"] = layouts.normal(rng, case, "O")
    return values


SPEC = OpSpec(
    name="linear",
    doc=(
        "out[n] = weight . x[n] + bias, weight stored [O, I] as in checkpoints; "
        "accumulation in float32 or wider."
    ),
    args=(
        Arg("x", "N I"),
        Arg("weight", "O I"),
        Arg("bias", "O", optional=True),
        Arg("out", "N O", role="out"),
    ),
    scalars=(),
    flops=flops,
    bytes=bytes_moved,
    cases=cases,
    build=build,
    compare=close("out"),
    tier="plain",
)
