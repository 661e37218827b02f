"""Logits of a level: the head's product in float32, whatever the model's type.

Rounded to bfloat16, logits of 8 to 16 would be 0.06 apart: scores of a beam drift by as much a
level, and ties are made that the model has not.
"""

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
    return 2 * a["R"] * a["K"] * a["h"]


def bytes_moved(problem: Problem) -> int:
    """Least bytes to move."""
    a, item = problem.sizes, dtype(problem.dtype).itemsize
    return item * a["h"] * (a["R"] + a["K"]) + 4 * a["R"] * a["K"]


def cases() -> Iterable[Case]:
    """Sizes around a tile, one row, one code, logits that a short type would round."""
    case = partial(layouts.case, "linear_logits", {"R": 17, "K": 40, "h": 48})
    for kind in MODEL_DTYPES:
        yield case(kind)
        yield case(kind, gain=30)
        yield case(kind, strided=True)
    for count in (1, 31, 33, 127, 128, 129):
        yield case("bfloat16", R=count)
    for inner, codes in ((1, 1), (8, 65), (256, 257), (768, 256)):
        yield case("bfloat16", R=3, h=inner, K=codes)
    yield case(R=0)


def build(case: Case) -> Values:
    """Host inputs of a case; logits are about `gain`, 1 when it is not given."""
    rng = np.random.default_rng(case.seed)
    return {
        "hidden": layouts.normal(rng, case, "R h", gain=case.flags.get("gain", 1)),
        "head": layouts.normal(rng, case, "K h", gain=case.sizes["h"] ** -0.5),
    }


SPEC = OpSpec(
    name="linear_logits",
    doc="logits[r] = head . hidden[r], accumulated and written in float32.",
    args=(
        Arg("hidden", "R h"),
        Arg("head", "K h"),
        Arg("logits", "R K", "float32", role="out"),
    ),
    scalars=(),
    flops=flops,
    bytes=bytes_moved,
    cases=cases,
    build=build,
    compare=close("logits"),
    tier="plain",
)
