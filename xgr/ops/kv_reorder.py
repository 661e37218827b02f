"""Unshared K/V of all layers follow their beams, in place, in one launch."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np

from xgr.ops import layouts
from xgr.ops.compare import exact
from xgr.ops.dtype import MODEL_DTYPES, dtype
from xgr.ops.spec import Arg, Case, OpSpec, Problem, Scalar, Values

# Bit of status[b]: the request's parents are unsorted or out of range.
BAD_PARENT = 2


def flops(problem: Problem) -> int:
    """A copy computes nothing."""
    return 0


def bytes_moved(problem: Problem) -> int:
    """Least bytes to move."""
    a, item = problem.sizes, dtype(problem.dtype).itemsize
    return 4 * item * a["L"] * a["R"] * a["S"] * a["G"] * a["d"]


def cases() -> Iterable[Case]:
    """Growing, shrinking and repeated parents, and parents that must be refused."""
    base = {"L": 2, "R": 21, "S": 3, "G": 2, "d": 16, "B": 3}
    case = partial(layouts.case, "kv_reorder", base)
    for kind in MODEL_DTYPES:
        yield case(kind, step=2, spare=4)
        yield case(kind, step=3, strided=True)
    for parents in ("first", "last", "own", "unsorted", "below", "above"):
        yield case(step=2, parents=parents, live="all")
    for step in (0, 1):
        yield case(step=step)
    for width in layouts.WIDTHS:
        yield case("bfloat16", R=width, S=2, G=1, B=1, L=1, step=2)
    # rows that many others wait for, and rows that few do, wider than a block of threads
    for parents in ("first", "last"):
        yield case("bfloat16", R=1100, S=1, G=1, B=1, L=1, step=1, parents=parents)
    yield case("bfloat16", R=2100, S=1, G=1, B=4, L=1, step=1)
    yield case("bfloat16", R=80, S=2, d=64, B=40, step=1)
    yield case(step=2, live="none")
    yield case("bfloat16", step=2, L=3, d=128, G=1)


def build(case: Case) -> Values:
    """Host inputs of a case; dead rows name no parent, and status has a bit already."""
    rng, a = np.random.default_rng(case.seed), case.sizes
    batch = layouts.rows(case, rng)
    return {
        "k": layouts.normal(rng, case, "L R S G d"),
        "v": layouts.normal(rng, case, "L R S G d"),
        **batch,
        "parent": layouts.parents(case, batch, rng),
        "status": np.arange(a["B"], dtype=np.int32) % 2,
        "step": case.flags["step"],
    }


SPEC = OpSpec(
    name="kv_reorder",
    doc=(
        "k[l, r, j] = old k[l, parent[r], j] for live rows and slots j < step, all layers "
        "l; v likewise. Parents are physical rows of the same request, ascending within it. "
        "A request whose parents are unsorted or out of range keeps its rows untouched and "
        "gets bit 2 of status[b] (BAD_PARENT). Other rows are not touched."
    ),
    args=(
        Arg("k", "L R S G d", role="inout"),
        Arg("v", "L R S G d", role="inout"),
        Arg("parent", "R", "int32"),
        Arg("row_start", "B1", "int32"),
        Arg("live", "B", "int32"),
        Arg("status", "B", "int32", role="inout"),
    ),
    scalars=(Scalar("step", "int"),),
    flops=flops,
    bytes=bytes_moved,
    cases=cases,
    build=build,
    compare=exact("k", "v", "status"),
    derived={"B1": lambda a: a["B"] + 1},
)
