"""Cosines and sines of every position, once at load."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np

from xgr.ops import layouts
from xgr.ops.compare import close
from xgr.ops.spec import Arg, Case, OpSpec, Problem, Scalar, Values


def flops(problem: Problem) -> int:
    """Floating point operations."""
    a = problem.sizes
    return 3 * a["P"] * a["F"]


def bytes_moved(problem: Problem) -> int:
    """Least bytes to move."""
    a = problem.sizes
    return 8 * a["P"] * a["F"]


def cases() -> Iterable[Case]:
    """Usual head sizes; positions far from 0; a scaled table."""
    case = partial(layouts.case, "rope_table", {"P": 33, "F": 32})
    yield case()
    yield case(F=8, base=1_000_000)
    yield case(F=64, P=1)
    yield case(F=64, P=5000)
    yield case(scaled=True)
    yield case(strided=True)


def build(case: Case) -> Values:
    """Host inputs of a case."""
    size = case.sizes["F"]
    exponent = -np.arange(size) / size
    return {
        "inv_freq": (float(case.flags.get("base", 10_000)) ** exponent).astype(np.float32),
        "scaling": 1.2 if case.flags.get("scaled") else 1.0,
    }


SPEC = OpSpec(
    name="rope_table",
    doc=(
        "cos[p, f] = scaling * cos(p * inv_freq[f]), sin likewise; the angle is a float32 "
        "product, as in HF transformers."
    ),
    args=(
        Arg("inv_freq", "F", "float32"),
        Arg("cos", "P F", "float32", role="out"),
        Arg("sin", "P F", "float32", role="out"),
    ),
    scalars=(Scalar("scaling", "float"),),
    flops=flops,
    bytes=bytes_moved,
    cases=cases,
    build=build,
    compare=close("cos", "sin"),
    tier="plain",
)
