"""Rows of a table by index, through a map when given."""

from __future__ import annotations

from xgr.ops.dtype import dtype
from xgr.ops.spec import Arg, OpSpec, Problem


def flops(problem: Problem) -> int:
    """A gather computes nothing."""
    return 0


def bytes_moved(problem: Problem) -> int:
    """Least bytes to move."""
    a, item = problem.sizes, dtype(problem.dtype).itemsize
    return 2 * item * a["N"] * a["h"]


SPEC = OpSpec(
    name="embed",
    doc=(
        "out[n] = table[ids[n]], or table[map[ids[n]]]: `map` turns codes of a level into "
        "token ids. An index out of range gives a row of zeros."
    ),
    args=(
        Arg("ids", "N", "int32"),
        Arg("table", "V h"),
        Arg("map", "M", "int32", optional=True),
        Arg("out", "N h", role="out"),
    ),
    scalars=(),
    flops=flops,
    bytes=bytes_moved,
    cases=lambda: (),
    build=lambda case: {},
    compare=lambda *_: (),
    tier="plain",
)
