"""Merge of attention parts by online softmax."""

from __future__ import annotations

from xgr.ops.dtype import dtype
from xgr.ops.spec import Arg, OpSpec, Problem


def flops(problem: Problem) -> int:
    """Floating point operations."""
    a = problem.sizes
    return 8 * a["R"] * a["H"] * a["d"]


def bytes_moved(problem: Problem) -> int:
    """Least bytes to move."""
    a, item = problem.sizes, dtype(problem.dtype).itemsize
    return 3 * item * a["R"] * a["H"] * a["d"] + 12 * a["R"] * a["H"]


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
    cases=lambda: (),
    build=lambda case: {},
    compare=lambda *_: (),
)
