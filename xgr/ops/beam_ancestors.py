"""Which physical row holds each token of a beam: the alternative to moving K/V."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np

from xgr.ops import layouts
from xgr.ops.compare import exact
from xgr.ops.spec import Arg, Case, OpSpec, Problem, Scalar, Values


def flops(problem: Problem) -> int:
    """A copy computes nothing."""
    return 0


def bytes_moved(problem: Problem) -> int:
    """Least bytes to move."""
    a = problem.sizes
    return 8 * a["R"] * a["S"]


def cases() -> Iterable[Case]:
    """Every step, and parents that must be refused."""
    case = partial(layouts.case, "beam_ancestors", {"R": 21, "S": 3, "B": 3})
    for step in range(4):
        yield case(step=step, spare=4)
    for parents in ("first", "last", "own", "unsorted", "below", "above"):
        yield case(step=2, parents=parents, live="all")
    for width in layouts.WIDTHS:
        yield case(R=width, B=1, step=2)
    yield case(R=2100, B=4, step=2)
    yield case(R=80, B=40, step=1)
    yield case(step=2, live="none")
    yield case(step=2, strided=True)


def build(case: Case) -> Values:
    """Host inputs of a case; dead rows name no parent, and status has a bit already."""
    rng, a = np.random.default_rng(case.seed), case.sizes
    batch = layouts.rows(case, rng)
    return {
        "ancestors": layouts.ancestors(case, batch, rng),
        **batch,
        "parent": layouts.parents(case, batch, rng),
        "status": np.arange(a["B"], dtype=np.int32) % 2,
        "step": case.flags["step"],
    }


SPEC = OpSpec(
    name="beam_ancestors",
    doc=(
        "out[r, :step] = ancestors[parent[r], :step], out[r, step] = r for live rows (step "
        "valid slots before); slots beyond and dead rows: out[r, j] = r. parent is checked "
        "as in kv_reorder; a bad request gets identity rows and bit 2 of status[b]."
    ),
    args=(
        Arg("ancestors", "R S", "int32"),
        Arg("parent", "R", "int32"),
        Arg("row_start", "B1", "int32"),
        Arg("live", "B", "int32"),
        Arg("out", "R S", "int32", role="out"),
        Arg("status", "B", "int32", role="inout"),
    ),
    scalars=(Scalar("step", "int"),),
    flops=flops,
    bytes=bytes_moved,
    cases=cases,
    build=build,
    compare=exact("out", "status"),
    derived={"B1": lambda a: a["B"] + 1},
    tier="plain",
)
