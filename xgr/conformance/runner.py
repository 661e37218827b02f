"""One case on one kernel: run it between canaries, twice, alone and in its batch, and compare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from xgr.conformance.alone import alone, requests
from xgr.conformance.gaps import Gap
from xgr.conformance.laid import with_outputs
from xgr.conformance.prepared import Prepared
from xgr.errors import Unsupported
from xgr.ops import spec
from xgr.ops.spec import Case, OpSpec, Values
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
    listed = [gap.reason for gap in gaps if gap.covers(case, name, rt.backend.arch)]
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
    one = Prepared(rt, kernel, declared, case, host)
    got = one.launch()
    if not one.has_values:
        return
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
        lone = Prepared(rt, kernel, declared, lone_case, lone_host).launch()
        for text in declared.compare(lone_case, lone_host, in_batch, lone):
            yield f"request {request} alone differs from itself in the batch: {text}"


def expected(declared: OpSpec, case: Case, host: Values) -> Values:
    """Outputs of the definition."""
    values = with_outputs(declared, host, case.sizes, case.dtype)
    for arg in declared.args:
        if arg.role == "inout" and values.get(arg.name) is not None:
            values[arg.name] = np.copy(values[arg.name])
    problem = declared.problem(values, case.dtype)
    runtime("cpu").bind(case.op, problem, REFERENCE)(**values)
    return {a.name: values[a.name] for a in declared.outputs if values.get(a.name) is not None}
