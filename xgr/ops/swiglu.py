"""SwiGLU gate: silu(gate) * up of a fused projection."""

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
    return 6 * a["N"] * a["I"]


def bytes_moved(problem: Problem) -> int:
    """Least bytes to move."""
    a, item = problem.sizes, dtype(problem.dtype).itemsize
    return 3 * item * a["N"] * a["I"]


def cases() -> Iterable[Case]:
    """Sizes around a block; gates so far from 0 that their exponential overflows."""
    case = partial(layouts.case, "swiglu", {"N": 9, "I": 48})
    for kind in MODEL_DTYPES:
        yield case(kind)
        yield case(kind, strided=True)
    for count, size in ((0, 8), (1, 1), (33, 768), (129, 1025)):
        yield case("bfloat16", N=count, I=size)
    yield case(gain=100)


def build(case: Case) -> Values:
    """Host inputs of a case: gate beside up, the gate of standard deviation `gain`."""
    rng = np.random.default_rng(case.seed)
    gate = layouts.normal(rng, case, "N I", gain=case.flags.get("gain", 1))
    return {"gate_up": np.concatenate([gate, layouts.normal(rng, case, "N I")], axis=1)}


SPEC = OpSpec(
    name="swiglu",
    doc=("gate_up[n] = [gate (I) | up (I)]; out = gate * sigmoid(gate) * up (Shazeer 2020)."),
    args=(
        Arg("gate_up", "N I2"),
        Arg("out", "N I", role="out"),
    ),
    scalars=(),
    flops=flops,
    bytes=bytes_moved,
    cases=cases,
    build=build,
    compare=close("out"),
    derived={"I2": lambda a: 2 * a["I"]},
    implied={"I": lambda a: a["I2"] // 2},
    tier="plain",
)
