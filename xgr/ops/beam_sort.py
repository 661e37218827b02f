"""The best out_width[b] continuations of each request, in a stated order."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from xgr.ops import beams, layouts
from xgr.ops.ranked import identical
from xgr.ops.spec import Arg, Case, OpSpec, Problem, Scalar, Values


def flops(problem: Problem) -> int:
    """Comparisons only."""
    return 0


def bytes_moved(problem: Problem) -> int:
    """Least bytes to move."""
    a = problem.sizes
    return 4 * a["R"] * a["C"] + 12 * a["RO"]


def cases() -> Iterable[Case]:
    """Layouts, numbers, orders, and widths on both sides of every likely threshold."""
    for order in ("path", "rank"):
        yield _case(1, 1, 300, 20, order)
        yield _case(7, 40, 9, 60, order, live="some", nobody=2, width="ragged", data="ties")
        yield _case(2, 60, 5, 7, order, data="ties")
        yield _case(2, 4, 40, 90, order, width="over", data="minus_inf")
        for data in ("flat", "peaked", "extreme", "low", "nan", "plus_inf"):
            yield _case(2, 8, 33, 21, order, data=data)
    for width in layouts.WIDTHS:
        yield _case(1, width, 17, width, "path", data="ties")
        yield _case(2, 6, 1100, 2 * width, "rank", data="ties")
    yield _case(2, 3, 1, 8, "rank")
    yield _case(2, 8, 9, 8, "path", live="none")
    yield _case(2, 8, 9, 8, "rank", strided=True)
    yield _case(1, 512, 8192, 512, "path", perf=True)


def _case(b: int, r: int, c: int, ro: int, order: str, **flags: str | int | bool) -> Case:
    return Case("beam_sort", {"B": b, "R": r, "C": c, "RO": ro}, flags={"order": order, **flags})


def build(case: Case) -> Values:
    """Host inputs of a case."""
    rng = np.random.default_rng(case.seed)
    batch = beams.batch(rng, case)
    kind = str(case.flags.get("data", "normal"))
    scores = beams.scores(rng, kind, case.sizes["R"], case.sizes["C"])
    beams.spoil(scores, kind, batch)
    return {
        "scores": beams.poison(scores, batch.is_live),
        "cumulative": batch.cumulative,
        "row_start": batch.row_start,
        "live": batch.live,
        "row_start_out": batch.row_start_out,
        "out_width": batch.out_width,
        "order": case.flags["order"],
    }


SPEC = OpSpec(
    name="beam_sort",
    doc=(
        "Candidates of request b: (parent row r, code c) with score = fl32(cumulative[r] + "
        "scores[r, c]), r live, score not -inf; finite scores below -1e30 count as -1e30. "
        'Rank order: score descending, parent ascending, code ascending. order="rank" emits '
        'by rank; order="path" emits the same survivors by (parent, code) ascending. No more '
        "survive than out_width[b], the request has output rows, or there are. parent "
        "is a row of the input; dead output rows get (row_start[b], 0, -inf), rows of "
        "nobody (0, 0, -inf). live_out[b] = survivors; a NaN or +inf score empties its own "
        "request."
    ),
    args=(
        Arg("scores", "R C", "float32"),
        Arg("cumulative", "R", "float32"),
        Arg("row_start", "B1", "int32"),
        Arg("live", "B", "int32"),
        Arg("row_start_out", "B1", "int32"),
        Arg("out_width", "B", "int32"),
        Arg("parent", "RO", "int32", role="out"),
        Arg("code", "RO", "int32", role="out"),
        Arg("score", "RO", "float32", role="out"),
        Arg("live_out", "B", "int32", role="out"),
    ),
    scalars=(Scalar("order", "str", flag=True, choices=("path", "rank")),),
    flops=flops,
    bytes=bytes_moved,
    cases=cases,
    build=build,
    compare=identical,
    derived={"B1": lambda a: a["B"] + 1},
)
