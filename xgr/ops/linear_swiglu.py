"""Gate and up projections of rows that are normed, and their SwiGLU gate."""

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
    return a["N"] * (4 * a["I"] * a["h"] + 8 * a["I"] + 2 * a["h"])


def bytes_moved(problem: Problem) -> int:
    """Least bytes to move."""
    a, item = problem.sizes, dtype(problem.dtype).itemsize
    return item * (a["N"] * (a["h"] + a["I"]) + 2 * a["I"] * a["h"])


def cases() -> Iterable[Case]:
    """Sizes around a tile and a block of columns; rows that are huge and zero."""
    case = partial(layouts.case, "linear_swiglu", {"N": 9, "I": 48, "h": 24})
    for kind in MODEL_DTYPES:
        yield case(kind)
        yield case(kind, strided=True)
    for kind in ("bfloat16", "float16"):
        for count, size, width in ((1, 64, 64), (127, 200, 72), (129, 392, 328), (300, 768, 256)):
            yield case(kind, N=count, I=size, h=width)
    for count, size, width in ((0, 8, 8), (0, 64, 64), (1, 1, 1), (33, 193, 65)):
        yield case("bfloat16", N=count, I=size, h=width)
    for gain in (10_000, 0):
        yield case(gain=gain)
        yield case("bfloat16", N=130, I=136, h=136, gain=gain)


def build(case: Case) -> Values:
    """Host inputs of a case: rows of standard deviation `gain`, products about 1 when normed."""
    rng = np.random.default_rng(case.seed)
    sizes = case.sizes
    weight = [layouts.normal(rng, case, "I h", gain=sizes["h"] ** -0.5) for _ in range(2)]
    return {
        "x": layouts.normal(rng, case, "N h", gain=case.flags.get("gain", 1)),
        "weight": np.concatenate(weight),
        "eps": 1e-6,
    }


SPEC = OpSpec(
    name="linear_swiglu",
    doc=(
        "SwiGLU of weight . x[n] / sqrt(mean(x[n]^2) + eps). weight [2 I, h] has the rows of the "
        "gate, then those of what it gates, with the gain of the norm in them; sums are float32 or "
        "wider. The product may be rounded to the model's dtype before the norm divides it: in "
        "float16 it must be below 65504."
    ),
    args=(
        Arg("x", "N h"),
        Arg("weight", "I2 h"),
        Arg("out", "N I", role="out"),
    ),
    scalars=(Scalar("eps", "float"),),
    flops=flops,
    bytes=bytes_moved,
    cases=cases,
    build=build,
    compare=close("out"),
    derived={"I2": lambda a: 2 * a["I"]},
    implied={"I": lambda a: a["I2"] // 2},
    composed_of=("linear", "normed_swiglu"),
)
