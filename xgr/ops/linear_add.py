"""Matrix product with the transposed weight, added to what is there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np

from xgr.ops import layouts
from xgr.ops.compare import both, close
from xgr.ops.dtype import MODEL_DTYPES, dtype
from xgr.ops.spec import Arg, Case, OpSpec, Problem, Values


def flops(problem: Problem) -> int:
    """Floating point operations."""
    a = problem.sizes
    return 2 * a["N"] * a["O"] * a["I"]


def bytes_moved(problem: Problem) -> int:
    """Least bytes to move."""
    a, item = problem.sizes, dtype(problem.dtype).itemsize
    return item * (a["N"] * a["I"] + a["O"] * a["I"] + 2 * a["N"] * a["O"])


def cases() -> Iterable[Case]:
    """Sizes around a tile, one row, one column; a residual that a product is small beside."""
    case = partial(layouts.case, "linear_add", {"N": 17, "I": 48, "O": 40})
    for kind in MODEL_DTYPES:
        yield case(kind)
        yield case(kind, strided=True)
    for count in (1, 31, 32, 33, 127, 128, 129):
        yield case("bfloat16", N=count)
    for inner, outer in ((1, 1), (256, 65), (257, 128), (768, 256)):
        yield case("bfloat16", N=3, I=inner, O=outer)
    yield case("bfloat16", gain=1000)
    yield case(N=0)


def build(case: Case) -> Values:
    """Host inputs of a case; products are about 1, the residual of standard deviation `gain`."""
    rng = np.random.default_rng(case.seed)
    return {
        "x": layouts.normal(rng, case, "N I"),
        "weight": layouts.normal(rng, case, "O I", gain=case.sizes["I"] ** -0.5),
        "residual": layouts.normal(rng, case, "N O", gain=case.flags.get("gain", 1)),
    }


def rounded_once(case: Case, inputs: Values, expected: Values, got: Values) -> Sequence[str]:
    """No element is further from the exact sum than the nearest number, but for sums in float32.

    A product that is rounded before it is added is: by half a unit in the last place of its own.
    """
    x, weight, residual = (inputs[name].astype(np.float64) for name in ("x", "weight", "residual"))
    exact = residual + x @ weight.T
    terms = np.abs(residual) + np.abs(x) @ np.abs(weight).T
    nearest = np.abs(expected["residual"].astype(np.float64) - exact)
    excess = np.abs(got["residual"].astype(np.float64) - exact) - nearest - 2.0**-20 * terms
    wrong = int((excess > 0).sum())
    if not wrong:
        return []
    return [f"{wrong} of {exact.size} sums were rounded before the residual was added"]


SPEC = OpSpec(
    name="linear_add",
    doc=(
        "residual[n] += weight . x[n], weight stored [O, I] as in checkpoints; accumulation in "
        "float32 or wider, rounded once."
    ),
    args=(
        Arg("x", "N I"),
        Arg("weight", "O I"),
        Arg("residual", "N O", role="inout"),
    ),
    scalars=(),
    flops=flops,
    bytes=bytes_moved,
    cases=cases,
    build=build,
    compare=both(close("residual"), rounded_once),
    tier="plain",
)
