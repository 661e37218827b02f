"""Every conformance case on every kernel of the device, as `xgr ops test -b cuda` runs them."""

from __future__ import annotations

import pytest

from xgr.conformance import Entry, Outcome, run_entry, table
from xgr.ops import specs

ENTRIES = table(device="cuda")


@pytest.mark.parametrize("entry", ENTRIES, ids=[entry.id for entry in ENTRIES])
def test_case(entry: Entry) -> None:
    result = run_entry(entry)
    assert result.outcome is not Outcome.SKIPPED, "; ".join(result.notes)
    assert result.outcome is not Outcome.FAIL, "\n".join(result.notes)


def test_every_op_has_a_kernel() -> None:
    assert {entry.case.op for entry in ENTRIES if entry.kernel} == set(specs())
