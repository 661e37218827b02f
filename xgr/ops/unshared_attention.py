"""Unshared stage: each live row attends to its own beam's tokens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from xgr.ops import layouts
from xgr.ops.compare import close
from xgr.ops.dtype import MODEL_DTYPES, dtype
from xgr.ops.spec import Arg, Case, OpSpec, Problem, Scalar, Values


def flops(problem: Problem) -> int:
    """Floating point operations."""
    a = problem.sizes
    return 4 * a["R"] * a["H"] * a["d"] * a["S"]


def bytes_moved(problem: Problem) -> int:
    """Least bytes to move."""
    a, item = problem.sizes, dtype(problem.dtype).itemsize
    return item * a["R"] * a["d"] * (2 * a["S"] * a["G"] + 2 * a["H"]) + 4 * a["R"] * a["H"]


def cases() -> Iterable[Case]:
    """Every step, with and without ancestors and bias."""
    case = partial(
        layouts.case, "unshared_attention", {"R": 21, "H": 4, "G": 2, "d": 64, "S": 3, "B": 3}
    )
    for kind in MODEL_DTYPES:
        yield case(kind, step=2, spare=4)
        yield case(kind, step=3, ancestors=True, strided=True)
    for step in range(4):
        yield case(step=step, ancestors=True)
        yield case(step=step, ancestors=True, bias=True)
    for width in (1, 31, 32, 33, 127, 128, 129):
        yield case("bfloat16", R=width, B=1, step=2, ancestors=True)
    for width in layouts.WIDTHS:
        yield case("bfloat16", R=width, H=1, G=1, d=16, S=2, B=1, step=2, ancestors=True)
    for size in (16, 96, 128, 256):
        yield case("bfloat16", R=7, d=size, step=2, bias=True)
    for heads, groups in ((3, 3), (8, 1), (16, 1), (12, 4)):
        yield case("bfloat16", R=7, H=heads, G=groups, step=3, ancestors=True)
    yield case(S=1, step=1, live="all")
    yield case(S=8, step=7, ancestors=True)
    yield case(step=3, gain=50, ancestors=True)
    yield case(step=3, live="none", ancestors=True)
    # more rows times heads than a device has cores, in requests of two beams
    yield case("bfloat16", R=80, H=8, d=16, B=40, step=2, ancestors=True)
    yield case(step=2, nan=True, live="all")


def build(case: Case) -> Values:
    """Host inputs of a case; dead queries and what no live row sees are NaN.

    With `nan`, so are values of the first request and the queries of the last one.
    """
    rng, a = np.random.default_rng(case.seed), case.sizes
    step = int(case.flags["step"])
    batch = layouts.rows(case, rng)
    q = layouts.normal(rng, case, "R H d", gain=case.flags.get("gain", 1))
    k, v = layouts.normal(rng, case, "R S G d"), layouts.normal(rng, case, "R S G d")
    q[layouts.dead(batch, a["R"])] = np.nan
    ancestors = layouts.ancestors(case, batch, rng) if case.flags.get("ancestors") else None
    hidden = unseen(case, batch, ancestors)
    k[hidden] = v[hidden] = np.nan
    if case.flags.get("nan"):
        v[: batch["row_start"][1], 0] = q[batch["row_start"][-2] :] = np.nan
    values: Values = {"q": q, "k": k, "v": v, **batch, "step": step, "scale": a["d"] ** -0.5}
    if ancestors is not None:
        values["ancestors"] = ancestors
    if case.flags.get("bias"):
        values["bias"] = layouts.normal(rng, case, "H S", "float32")
    return values


def unseen(
    case: Case, batch: Mapping[str, layouts.Ints], ancestors: layouts.Ints | None
) -> NDArray[np.bool_]:
    """Whether each slot [R, S] is read by no live row; such memory may never have been written."""
    rows, step = case.sizes["R"], int(case.flags["step"])
    mask = np.ones((rows, case.sizes["S"]), np.bool_)
    for row in np.flatnonzero(~layouts.dead(batch, rows)):
        holders = row if ancestors is None else ancestors[row, :step]
        mask[holders, np.arange(step)] = False
    return mask


SPEC = OpSpec(
    name="unshared_attention",
    doc=(
        "Attention of each live row over its valid slots 0 .. step - 1: `step` counts the "
        "slots that are read, so a forward that wrote slot s passes s + 1. ancestors[r, j] "
        "is the physical row whose slot j holds row r's token j (identity when absent). "
        "bias[h, j] is added to the scaled score of slot j. step = 0, dead rows and rows of "
        "nobody get (0, -inf)."
    ),
    args=(
        Arg("q", "R H d"),
        Arg("k", "R S G d"),
        Arg("v", "R S G d"),
        Arg("row_start", "B1", "int32"),
        Arg("live", "B", "int32"),
        Arg("ancestors", "R S", "int32", optional=True),
        Arg("bias", "H S", "float32", optional=True),
        Arg("out", "R H d", role="out"),
        Arg("lse", "R H", "float32", role="out"),
    ),
    scalars=(Scalar("step", "int"), Scalar("scale", "float")),
    flops=flops,
    bytes=bytes_moved,
    cases=cases,
    build=build,
    compare=close("out", "lse"),
    derived={"B1": lambda a: a["B"] + 1},
)
