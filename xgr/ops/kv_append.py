"""Write K/V of live rows to a slot of the unshared cache."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np

from xgr.ops import layouts
from xgr.ops.compare import exact
from xgr.ops.dtype import MODEL_DTYPES, dtype
from xgr.ops.spec import Arg, Case, OpSpec, Problem, Scalar, Values


def flops(problem: Problem) -> int:
    """A copy computes nothing."""
    return 0


def bytes_moved(problem: Problem) -> int:
    """Least bytes to move."""
    a, item = problem.sizes, dtype(problem.dtype).itemsize
    return 4 * item * a["R"] * a["G"] * a["d"]


def cases() -> Iterable[Case]:
    """First, middle and last slot."""
    case = partial(layouts.case, "kv_append", {"R": 21, "S": 3, "G": 2, "d": 16, "B": 3})
    for kind in MODEL_DTYPES:
        yield case(kind, step=1, spare=4)
        yield case(kind, step=2, strided=True)
    yield case(step=0, live="all")
    yield case(step=0, live="none")
    yield case(step=2, R=129, G=1, d=64, B=1)


def build(case: Case) -> Values:
    """Host inputs of a case; new K/V of dead rows are NaN."""
    rng, a = np.random.default_rng(case.seed), case.sizes
    batch = layouts.rows(case, rng)
    values: Values = {**batch, "step": case.flags["step"]}
    for name in ("k", "v"):
        values[name] = layouts.normal(rng, case, "R S G d")
        values[f"{name}_new"] = layouts.normal(rng, case, "R G d")
        values[f"{name}_new"][layouts.dead(batch, a["R"])] = np.nan
    return values


SPEC = OpSpec(
    name="kv_append",
    doc=("k[r, step] = k_new[r] and v[r, step] = v_new[r] for live rows; nothing else is touched."),
    args=(
        Arg("k_new", "R G d"),
        Arg("v_new", "R G d"),
        Arg("row_start", "B1", "int32"),
        Arg("live", "B", "int32"),
        Arg("k", "R S G d", role="inout"),
        Arg("v", "R S G d", role="inout"),
    ),
    scalars=(Scalar("step", "int"),),
    flops=flops,
    bytes=bytes_moved,
    cases=cases,
    build=build,
    compare=exact("k", "v"),
    derived={"B1": lambda a: a["B"] + 1},
    tier="plain",
)
