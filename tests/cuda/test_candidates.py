"""Configurations that kernels list, interpreted on one small case of each tuned op."""

from __future__ import annotations

import pytest

from tests.cuda.interpreter import QUIET, interpreted, need_interpreter
from tests.cuda.test_interpreted import is_small
from tests.tuner.candidates import complaints
from xgr.backends.cuda.kernels import KERNELS
from xgr.conformance.entries import cases_of
from xgr.registry import Kernel
from xgr.tuner import run

need_interpreter()
pytestmark = QUIET

TUNED = [k for k in KERNELS if k.op in run.DEFAULT["cuda"] and k.space and not k.archs]


@pytest.mark.parametrize("kernel", TUNED, ids=[f"{k.op}:{k.name}" for k in TUNED])
def test_configurations_conform(kernel: Kernel) -> None:
    case = next(case for case in cases_of(kernel.op) if is_small(case))
    found = list(complaints(interpreted(), kernel, case))
    assert not found, "\n".join(found)
