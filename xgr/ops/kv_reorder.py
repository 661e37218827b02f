"""Unshared K/V of all layers follow their beams, in place, in one launch."""

from __future__ import annotations

from xgr.ops.dtype import dtype
from xgr.ops.spec import Arg, OpSpec, Problem, Scalar

# Bit of status[b]: the request's parents are unsorted or out of range.
BAD_PARENT = 2


def flops(problem: Problem) -> int:
    """A copy computes nothing."""
    return 0


def bytes_moved(problem: Problem) -> int:
    """Least bytes to move."""
    a, item = problem.sizes, dtype(problem.dtype).itemsize
    return 4 * item * a["L"] * a["R"] * a["S"] * a["G"] * a["d"]


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
    cases=lambda: (),
    build=lambda case: {},
    compare=lambda *_: (),
    derived={"B1": lambda a: a["B"] + 1},
)
