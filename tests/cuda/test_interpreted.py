"""The small conformance cases through Triton's interpreter; a device runs all of them."""

from __future__ import annotations

from math import prod

import pytest

from tests.cuda.interpreter import QUIET, interpreted, need_interpreter
from xgr.backends.cuda.kernels import KERNELS
from xgr.conformance import Outcome, run_case
from xgr.conformance.entries import cases_of
from xgr.conformance.gaps import read_gaps
from xgr.ops import spec
from xgr.ops.spec import Case
from xgr.registry.kernel import Kernel

need_interpreter()
pytestmark = QUIET

# rows of a case and elements of its largest argument: what is beyond takes the interpreter more
# than a second on an idle core
ROWS, LARGEST = 64, 1 << 13


def is_small(case: Case) -> bool:
    declared = spec(case.op)
    sizes = {**dict.fromkeys(declared.axes, 1), **case.sizes}
    rows = max(sizes.get(axis, 0) for axis in ("R", "RO", "N"))
    arguments = [declared.shape(a, sizes) for a in declared.args if not a.struct]
    return rows <= ROWS and max(map(prod, arguments)) <= LARGEST


# a kernel for one machine alone is not interpreted
ANYWHERE = [k for k in KERNELS if not k.archs]
ENTRIES = [(k, case) for k in ANYWHERE for case in cases_of(k.op) if is_small(case)]


@pytest.mark.parametrize(("kernel", "case"), ENTRIES, ids=[f"{k.name}:{c.id}" for k, c in ENTRIES])
def test_case(kernel: Kernel, case: Case) -> None:
    rt = interpreted()
    result = run_case(rt, kernel.name, case, read_gaps(type(rt.backend)))
    assert result.outcome is not Outcome.FAIL, "\n".join(result.notes)


def test_every_kernel_has_small_cases() -> None:
    assert {(k.op, k.name) for k, _ in ENTRIES} == {(k.op, k.name) for k in ANYWHERE}
