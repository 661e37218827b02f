"""The best out_width[b] continuations of each request, in a stated order."""

from __future__ import annotations

from xgr.ops.spec import Arg, OpSpec, Problem, Scalar


def flops(problem: Problem) -> int:
    """Comparisons only."""
    return 0


def bytes_moved(problem: Problem) -> int:
    """Least bytes to move."""
    a = problem.sizes
    return 4 * a["R"] * a["C"] + 12 * a["RO"]


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
    cases=lambda: (),
    build=lambda case: {},
    compare=lambda *_: (),
    derived={"B1": lambda a: a["B"] + 1},
)
