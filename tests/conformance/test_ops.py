"""Every case on every kernel of the backends that run on any machine, as `xgr ops test` runs them.

Those of a device are held in the folder of tests that needs it.
"""

import pytest

from xgr.conformance import Entry, Outcome, run_entry, table

ENTRIES = [*table(device="cpu"), *table(device="null")]


@pytest.mark.parametrize("entry", ENTRIES, ids=[entry.id for entry in ENTRIES])
def test_case(entry: Entry) -> None:
    result = run_entry(entry)
    if result.outcome is Outcome.SKIPPED:
        pytest.skip("; ".join(result.notes))
    assert result.outcome is not Outcome.FAIL, "\n".join(result.notes)


def test_case_ids_are_distinct() -> None:
    ids = [entry.id for entry in ENTRIES]
    assert len(set(ids)) == len(ids)
