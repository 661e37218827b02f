"""Every conformance case on every kernel of the device."""

from __future__ import annotations

import pytest

from xgr.backends.cuda.kernels import KERNELS
from xgr.conformance import Outcome, run_case
from xgr.conformance.entries import cases_of
from xgr.conformance.gaps import read_gaps
from xgr.ops import specs
from xgr.ops.spec import Case
from xgr.registry.select import COMPOSED
from xgr.runtime import Runtime

NAMES = [(k.op, k.name) for k in KERNELS] + [
    (op, COMPOSED) for op, declared in specs().items() if declared.composed_of
]
ENTRIES = [(name, case) for op, name in NAMES for case in cases_of(op)]


@pytest.mark.parametrize(("kernel", "case"), ENTRIES, ids=[f"{k}:{c.id}" for k, c in ENTRIES])
def test_case(rt: Runtime, kernel: str, case: Case) -> None:
    result = run_case(rt, kernel, case, read_gaps(type(rt.backend)))
    assert result.outcome is not Outcome.FAIL, "\n".join(result.notes)


def test_every_op_has_a_kernel() -> None:
    assert {op for op, _ in NAMES} == set(specs())
