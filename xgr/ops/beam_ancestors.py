"""Which physical row holds each token of a beam: the alternative to moving K/V."""

from __future__ import annotations

from xgr.ops.spec import Arg, OpSpec, Problem, Scalar


def flops(problem: Problem) -> int:
    """A copy computes nothing."""
    return 0


def bytes_moved(problem: Problem) -> int:
    """Least bytes to move."""
    a = problem.sizes
    return 8 * a["R"] * a["S"]


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
    cases=lambda: (),
    build=lambda case: {},
    compare=lambda *_: (),
    derived={"B1": lambda a: a["B"] + 1},
    tier="plain",
)
