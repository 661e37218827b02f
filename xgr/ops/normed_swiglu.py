"""SwiGLU gate of a projection that the norm of its input is still to divide."""

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
    return a["N"] * (8 * a["I"] + 2 * a["h"])


def bytes_moved(problem: Problem) -> int:
    """Least bytes to move."""
    a, item = problem.sizes, dtype(problem.dtype).itemsize
    return item * a["N"] * (3 * a["I"] + a["h"])


def cases() -> Iterable[Case]:
    """Sizes around a block; rows that are huge and zero."""
    case = partial(layouts.case, "normed_swiglu", {"N": 9, "I": 48, "h": 24})
    for kind in MODEL_DTYPES:
        yield case(kind)
        yield case(kind, strided=True)
    for count, size, width in ((0, 8, 8), (1, 1, 1), (33, 768, 256), (129, 1025, 1025)):
        yield case("bfloat16", N=count, I=size, h=width)
    for gain in (10_000, 0):
        yield case(gain=gain)


def build(case: Case) -> Values:
    """Host inputs of a case: rows of standard deviation `gain`, and gate beside up like them."""
    rng = np.random.default_rng(case.seed)
    gain = case.flags.get("gain", 1)
    gate, up = (layouts.normal(rng, case, "N I", gain=gain) for _ in range(2))
    return {
        "gate_up": np.concatenate([gate, up], axis=1),
        "hidden": layouts.normal(rng, case, "N h", gain=gain),
        "eps": 1e-6,
    }


SPEC = OpSpec(
    name="normed_swiglu",
    doc=(
        "As swiglu of gate_up[n] / sqrt(mean(hidden[n]^2) + eps): gate_up is the product of "
        "hidden, and its norm comes behind the product."
    ),
    args=(
        Arg("gate_up", "N I2"),
        Arg("hidden", "N h"),
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
    tier="plain",
)
