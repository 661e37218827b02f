"""Beams on 16-bit logits: overflow to infinity, exact ties, and numbers below the least score."""

from dataclasses import replace

import pytest

from xgr.conformance import Entry, Outcome, run_entry, table
from xgr.ops.spec import Case

LARGEST = 3000


def cases(op: str) -> list[Case]:
    """Small float32 cases whose numbers are not of the plain kind, in the 16-bit types."""
    return [
        replace(case, dtype=kind)
        for entry in table(op, "cpu", "fast", r"float32.*(data=|filters=|missing=)")
        if (case := entry.case).sizes["R"] * case.sizes["K"] <= LARGEST
        for kind in ("float16", "bfloat16")
    ]


ENTRIES = table("beam_step", cases=cases)


@pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")
@pytest.mark.parametrize("entry", ENTRIES, ids=[entry.id for entry in ENTRIES])
def test_case(entry: Entry) -> None:
    result = run_entry(entry)
    if result.outcome is Outcome.SKIPPED:
        pytest.skip("; ".join(result.notes))
    assert result.outcome is not Outcome.FAIL, "\n".join(result.notes)


def test_every_kind_of_numbers_is_there() -> None:
    kinds = {entry.case.flags.get("data") for entry in ENTRIES}
    assert kinds >= {"ties", "flat", "peaked", "extreme", "low", "minus_inf", "nan", "plus_inf"}
