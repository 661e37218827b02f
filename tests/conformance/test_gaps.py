"""Gaps are strict both ways."""

import pytest

from xgr.backends.cpu_ref.backend import CpuBackend
from xgr.backends.cpu_ref.reference.beam_sort import build
from xgr.conformance import Outcome, run_case
from xgr.conformance.entries import cases_of
from xgr.conformance.gaps import Gap, parse_gaps
from xgr.errors import InputError
from xgr.registry.kernel import Kernel
from xgr.runtime import Runtime

CASE = cases_of("beam_sort")[0]
LISTED = Gap("beam_sort", "one request at a time", case=r"C=300")


def runtime_with(**limits: tuple[int, int]) -> Runtime:
    rt = Runtime("cpu", CpuBackend())
    rt.register(Kernel("beam_sort", "partial", build, limits=limits))
    return rt


def test_refused_and_listed_is_unsupported() -> None:
    result = run_case(runtime_with(C=(1, 10)), "partial", CASE, [LISTED])
    assert result.outcome is Outcome.UNSUPPORTED
    assert result.notes == ["one request at a time"]


def test_refused_and_not_listed_fails() -> None:
    result = run_case(runtime_with(C=(1, 10)), "partial", CASE)
    assert result.outcome is Outcome.FAIL
    assert "C=300" in result.notes[0]


def test_listed_and_passing_fails() -> None:
    result = run_case(runtime_with(), "partial", CASE, [LISTED])
    assert result.outcome is Outcome.FAIL
    assert "remove the entry" in result.notes[0]


@pytest.mark.parametrize(
    "gap",
    [
        Gap("beam_step", "another op"),
        Gap("beam_sort", "another kernel", kernel="other"),
        Gap("beam_sort", "another case", case="C=301"),
        Gap("beam_sort", "another machine", arch="sm_90"),
    ],
)
def test_gaps_of_others_do_not_count(gap: Gap) -> None:
    assert run_case(runtime_with(), "partial", CASE, [gap]).outcome is Outcome.OK


def test_entries_are_read() -> None:
    text = '[[gap]]\nop = "beam_sort"\nreason = "no sort"\ncase = "C=3"\n'
    assert parse_gaps(text, "gaps.toml") == [Gap("beam_sort", "no sort", case="C=3")]


@pytest.mark.parametrize("text", ['op = "beam_sort"', 'op = "a"\nreason = "b"\ncases = "c"'])
def test_bad_entries_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="entry 0"):
        parse_gaps(f"[[gap]]\n{text}\n", "gaps.toml")
