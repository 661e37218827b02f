"""Conformance cases that an interpreter, or a machine without vectors, runs in about a second."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xgr.backends.ascend.triton.kernels import TRITON_KERNELS
from xgr.conformance.entries import cases_of
from xgr.ops import spec
from xgr.ops.spec import Case

Entry = tuple[str, Case]


def entries(rows: int, largest: int) -> Sequence[Entry]:
    """Op and case: at most so many rows, and elements of the largest argument."""
    return [
        (kernel.op, case)
        for kernel in TRITON_KERNELS
        for case in cases_of(kernel.op)
        if _is_small(case, rows, largest)
    ]


def name(entry: Entry) -> str:
    """For pytest."""
    return entry[1].id


def _is_small(case: Case, rows: int, largest: int) -> bool:
    declared = spec(case.op)
    sizes = {**dict.fromkeys(declared.axes, 1), **case.sizes}
    arguments = [declared.shape(a, sizes) for a in declared.args if not a.struct]
    most = max(sizes.get(axis, 0) for axis in ("R", "RO"))
    return most <= rows and max(map(prod, arguments)) <= largest
