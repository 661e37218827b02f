"""How fast a kernel is, in the units of its declaration."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from xgr.conformance.prepared import Prepared
from xgr.ops import specs
from xgr.ops.spec import Case, Problem
from xgr.runtime import Runtime


@dataclass(frozen=True, slots=True)
class Measured:
    """A timed case.

    Attributes:
        milliseconds: median of the launches.
        gflops: 1e9 operations a second, from the declaration's count.
        gbytes: 1e9 bytes a second, from the declaration's least bytes to move.
        launches: how many were timed.
    """

    case: Case
    kernel: str
    milliseconds: float
    gflops: float
    gbytes: float
    launches: int


def perf_cases(op: str) -> Sequence[Case]:
    """The cases of an op flagged perf; where there are none, the one with the most work."""
    declared = specs()[op]
    cases = list(declared.cases())
    flagged = [case for case in cases if case.flags.get("perf")]

    def work(case: Case) -> int:
        problem = Problem.of(op, case.dtype, case.flags, **case.sizes)
        return max(declared.flops(problem), declared.bytes(problem))

    return flagged or sorted(cases, key=work)[-1:]


def measure(rt: Runtime, kernel: str | None, case: Case, budget: float = 0.5) -> Measured:
    """Time a case for about `budget` seconds.

    Raises:
        Unsupported: the kernel cannot run it.
    """
    declared = specs()[case.op]
    prepared = Prepared(rt, kernel, declared, case, declared.build(case))
    timings = prepared.timings(budget)
    seconds = statistics.median(timings)
    return Measured(
        case,
        kernel or "",
        seconds * 1e3,
        declared.flops(prepared.problem) / seconds / 1e9,
        declared.bytes(prepared.problem) / seconds / 1e9,
        len(timings),
    )
