"""Every configuration that the device's kernels list, on some cases of each tuned op."""

from __future__ import annotations

import pytest

from tests.tuner.candidates import complaints, problem_of
from xgr.conformance.entries import cases_of
from xgr.ops.spec import Case
from xgr.runtime import runtime
from xgr.tuner import run

# cases of an op: every so many of them
EVERY = 8
CASES = [case for op in run.DEFAULT["cuda"] for case in cases_of(op)[::EVERY]]


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_configurations_conform(case: Case) -> None:
    rt, problem = runtime("cuda"), problem_of(case)
    able = [
        k for k in rt.kernels(case.op) if k.space and not k.unsupported(problem, rt.backend.arch)
    ]
    found = [c for kernel in able for c in complaints(rt, kernel, case)]
    # one that is too large for the device is left out when it is measured
    wrong = [text for text in found if "OutOfResources" not in text]
    assert not wrong, "\n".join(wrong)
