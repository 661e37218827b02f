"""One case on one kernel: run it between canaries, twice, alone and in its batch, and compare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from xgr.conformance.alone import alone, requests
from xgr.conformance.canary import Guarded
from xgr.conformance.gaps import Gap
from xgr.conformance.laid import Laid, with_outputs
from xgr.errors import Unsupported, ValueReadError
from xgr.ops import spec
from xgr.ops.array import Array
from xgr.ops.dtype import DType, float32
from xgr.ops.spec import Case, OpSpec, Problem, Values
from xgr.registry.bind import Bound, BoundContext, compose
from xgr.runtime import Runtime, runtime

REFERENCE = "cpu_ref.reference"


class Outcome(StrEnum):
    """What became of a case."""

    OK = "ok"
    FAIL = "fail"
    UNSUPPORTED = "unsupported"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Result:
    """Outcome of a case on a kernel, with complaints of a failed one or reasons of another."""

    case: Case
    kernel: str
    outcome: Outcome
    notes: Sequence[str] = ()


def run_case(rt: Runtime, kernel: str | None, case: Case, gaps: Sequence[Gap] = ()) -> Result:
    """Run a case on a kernel of a runtime ("composed" for an op made of others, None for any).

    A kernel may refuse a case when a gap lists it, and must refuse every case that a gap lists.
    """
    name = kernel or ""
    listed = [gap.reason for gap in gaps if gap.covers(case, name)]
    try:
        complaints = list(_complaints(rt, kernel, case))
    except Unsupported as refusal:
        if listed:
            return Result(case, name, Outcome.UNSUPPORTED, listed)
        return Result(case, name, Outcome.FAIL, [f"not in gaps.toml: {refusal}"])
    except Exception as error:  # whatever a kernel raises is its failure, not the suite's
        complaints = [f"{type(error).__name__}: {error}"]
    if listed:
        note = "in gaps.toml, but the kernel takes it: remove the entry"
        return Result(case, name, Outcome.FAIL, [note, *complaints])
    return Result(case, name, Outcome.FAIL if complaints else Outcome.OK, complaints)


def _complaints(rt: Runtime, kernel: str | None, case: Case) -> Iterator[str]:
    declared = spec(case.op)
    host = declared.build(case)
    one = _Run(rt, kernel, declared, case, host)
    if not _has_values(rt):
        one.launch()
        return
    got = one.launch()
    yield from one.damage()
    yield from declared.compare(case, host, expected(declared, case, host), got)
    if one.deterministic:
        again = one.launch()
        for name in got:
            if got[name].tobytes() != again[name].tobytes():
                yield f"{name} differs when the same launch runs again"
    if one.plan(host):
        yield from (f"planned: {t}" for t in declared.compare(case, host, got, one.launch()))
    for request in requests(declared, case):
        lone_case, lone_host, in_batch = alone(declared, case, host, got, request)
        lone = _Run(rt, kernel, declared, lone_case, lone_host).launch()
        for text in declared.compare(lone_case, lone_host, in_batch, lone):
            yield f"request {request} alone differs from itself in the batch: {text}"


def expected(declared: OpSpec, case: Case, host: Values) -> Values:
    """Outputs of the definition."""
    values = with_outputs(declared, host, case.sizes, case.dtype)
    for arg in declared.args:
        if arg.role == "inout" and values.get(arg.name) is not None:
            values[arg.name] = np.copy(values[arg.name])
    problem = declared.problem(values, case.dtype)
    runtime("cpu").bind(case.op, problem, REFERENCE).launch(**values)
    return {a.name: values[a.name] for a in declared.outputs if values.get(a.name) is not None}


class _Run:
    """A kernel bound for a case, and the case's arguments on its device."""

    def __init__(
        self, rt: Runtime, kernel: str | None, declared: OpSpec, case: Case, host: Values
    ) -> None:
        strided = bool(case.flags.get("strided", False))
        values = with_outputs(declared, host, case.sizes, case.dtype)
        problem = declared.problem(values, case.dtype)
        self._owner = _Owner(rt)
        self._bound = self._owner.bind(case.op, problem, kernel)
        self._laid = Laid(rt, declared, values, case.dtype, strided)
        chosen = self._bound.choice.kernel
        self.deterministic = declared.deterministic and (chosen is None or chosen.deterministic)
        self._has_values = _has_values(rt)

    def launch(self) -> Values:
        """Outputs of a launch on fresh arguments; empty where arrays have no values."""
        self._laid.reset()
        self._bound.launch(**self._laid.arguments)
        return self._laid.outputs() if self._has_values else {}

    def damage(self) -> Iterator[str]:
        """What was written that must not be."""
        yield from self._laid.damage()
        for guarded in self._owner.workspaces:
            if not guarded.intact():
                yield "a workspace was written outside of its elements"

    def plan(self, host: Values) -> bool:
        """Plan the batch; False where the kernel plans nothing."""
        if "prompt_start" not in host or not hasattr(self._bound.launch, "plan"):
            return False
        widths = np.diff(host["row_start"]).tolist() if "row_start" in host else []
        self._bound.plan(host["prompt_start"].tolist(), host["prompt_len"].tolist(), widths)
        return True


class _Owner:
    """What a bind asks of a runtime, with workspaces between canaries."""

    def __init__(self, rt: Runtime) -> None:
        self._runtime = rt
        self.workspaces: list[Guarded] = []

    def empty(self, shape: Sequence[int], dtype: DType) -> Array:
        guarded = Guarded(self._runtime, shape, dtype)
        self.workspaces.append(guarded)
        return guarded.view

    def bind(self, op: str, problem: Problem, kernel: str | None = None) -> Bound:
        choice = self._runtime.explain(op, problem, kernel).choice
        context = BoundContext(self, choice.config)
        if choice.kernel is None:
            return Bound(choice, compose(choice, context))
        return Bound(choice, choice.kernel.build(choice.problem, context))


def _has_values(rt: Runtime) -> bool:
    """Whether arrays hold values at all; a backend of shapes only is held to those."""
    try:
        rt.fetch(rt.empty((1,), float32))
    except ValueReadError:
        return False
    return True
