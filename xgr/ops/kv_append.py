"""Write K/V of live rows to a slot of the unshared cache."""

from __future__ import annotations

from xgr.ops.dtype import dtype
from xgr.ops.spec import Arg, OpSpec, Problem, Scalar


def flops(problem: Problem) -> int:
    """A copy computes nothing."""
    return 0


def bytes_moved(problem: Problem) -> int:
    """Least bytes to move."""
    a, item = problem.sizes, dtype(problem.dtype).itemsize
    return 4 * item * a["R"] * a["G"] * a["d"]


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
    cases=lambda: (),
    build=lambda case: {},
    compare=lambda *_: (),
    derived={"B1": lambda a: a["B"] + 1},
    tier="plain",
)
