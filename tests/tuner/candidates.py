"""Conformance of kernels with values of their tunables, as a tuned table may set them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from xgr.conformance import Outcome, run_case
from xgr.conformance.laid import with_outputs
from xgr.ops import spec
from xgr.ops.spec import Case, Problem
from xgr.registry.bind import BoundContext
from xgr.registry.kernel import Context, Kernel, Launcher
from xgr.runtime import Runtime


def problem_of(case: Case) -> Problem:
    """What a conformance case binds."""
    declared = spec(case.op)
    values = with_outputs(declared, declared.build(case), case.sizes, case.dtype)
    return declared.problem(values, case.dtype)


def complaints(rt: Runtime, kernel: Kernel, case: Case) -> Iterator[str]:
    """What is wrong with any configuration that the kernel lists for a case."""
    for config in kernel.configs(problem_of(case), rt.backend.cores, rt.backend.arch)[1:]:
        result = run_case(_with(rt, kernel, config), "tests.tuned", case)
        if result.outcome is not Outcome.OK:
            yield f"{kernel.name} {config} at {case.id}: {'; '.join(result.notes)}"


def _with(rt: Runtime, kernel: Kernel, config: Mapping[str, int]) -> Runtime:
    """A runtime with a kernel that is built with a config, whatever the context has."""

    def build(problem: Problem, context: Context) -> Launcher:
        class Tuned(BoundContext):
            def __init__(self) -> None:
                self.config = config
                self.empty = context.empty  # type: ignore[method-assign]
                self.bind = context.bind  # type: ignore[assignment, method-assign]

        return kernel.build(problem, Tuned())

    lane = rt.lane()
    lane.register(replace(kernel, name="tests.tuned", factory=build))
    return lane
