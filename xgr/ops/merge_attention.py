"""Merge of attention parts by online softmax."""

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
    return 8 * a["R"] * a["H"] * a["d"]


def bytes_moved(problem: Problem) -> int:
    """Least bytes to move."""
    a, item = problem.sizes, dtype(problem.dtype).itemsize
    return 3 * item * a["R"] * a["H"] * a["d"] + 12 * a["R"] * a["H"]


def cases() -> Iterable[Case]:
    """One to four parts, with empty ones among them."""
    case = partial(layouts.case, "merge_attention", {"R": 17, "H": 4, "d": 64})
    for kind in MODEL_DTYPES:
        yield case(kind, parts=2)
        yield case(kind, parts=3, empty=True, strided=True)
    for parts in (1, 4):
        yield case(parts=parts, empty=True)
    for width in (1, 31, 33, 129):
        yield case("bfloat16", R=width, parts=2, empty=True)
    for width in (63, 64, 65, 511, 512, 513, 1023, 1024, 1025):
        yield case("bfloat16", R=width, H=1, d=16, parts=2, empty=True)
    for size in (16, 96, 128, 256):
        yield case("bfloat16", d=size, H=3, parts=2, empty=True)
    yield case(parts=2, gain=1000, empty=True)
    yield case(parts=2, nan=True)


def build(case: Case) -> Values:
    """Host inputs of a case.

    With `empty`, each part, and all parts together, lack some rows; with `nan`, the first head of
    the last part is NaN in the first row.
    """
    rng, parts = np.random.default_rng(case.seed), int(case.flags["parts"])
    outs, lses = [], []
    for index in range(parts):
        out = layouts.normal(rng, case, "R H d")
        lse = layouts.normal(rng, case, "R H", "float32", gain=case.flags.get("gain", 2))
        if case.flags.get("empty"):
            for rows, head in ((slice(index, None, parts + 1), 0), (slice(0, None, 3), -1)):
                out[rows, head], lse[rows, head] = 0, -np.inf
        outs.append(out)
        lses.append(lse)
    if case.flags.get("nan"):
        outs[-1][0, 0] = lses[-1][0, 0] = np.nan
    return {"outs": outs, "lses": lses}


SPEC = OpSpec(
    name="merge_attention",
    doc=(
        "Parts (outs[i], lses[i]) over disjoint keys become the attention over all of them. "
        "An empty part is (0, -inf); all parts empty gives (0, -inf), never NaN."
    ),
    args=(
        Arg("outs", "R H d", many=True),
        Arg("lses", "R H", "float32", many=True),
        Arg("out", "R H d", role="out"),
        Arg("lse", "R H", "float32", role="out"),
    ),
    scalars=(),
    flops=flops,
    bytes=bytes_moved,
    cases=cases,
    build=build,
    compare=close("out", "lse"),
)
