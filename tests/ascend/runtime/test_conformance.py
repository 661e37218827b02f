"""Every conformance case on `npu:0` under the fake CANN, as `xgr ops test -b npu` runs them.

Kernels written in Triton-Ascend are not called here: a fake CANN cannot run what its compiler
makes, so `tests/ascend/triton` holds them to the definitions in another way.
"""

from __future__ import annotations

import pytest

from tests.ascend.runtime.world import beam_kernels
from xgr.conformance import Entry, Outcome, run_entry, table
from xgr.ops import specs

beam_kernels()
ENTRIES = table(device="npu")
RUN = [entry for entry in ENTRIES if not entry.kernel.endswith(".triton")]


@pytest.mark.parametrize("entry", RUN, ids=[entry.id for entry in RUN])
def test_case(entry: Entry) -> None:
    result = run_entry(entry)
    assert result.outcome is not Outcome.SKIPPED, "; ".join(result.notes)
    assert result.outcome is not Outcome.FAIL, "\n".join(result.notes)


def test_every_op_has_a_kernel_or_a_gap() -> None:
    assert {entry.case.op for entry in ENTRIES} == set(specs())
