"""The rule of comparison, on results made by hand."""

from __future__ import annotations

import re

import pytest

from tests.oracle.beam import Found, Scored
from tests.oracle.compare import Comparison, compare, compare_users

INF = float("inf")
WANT: Scored = [((1,), -1.0), ((2,), -2.0), ((3,), -2.00005), ((4,), -3.0)]


def found(last_gap: float = INF, inner_gap: float = INF) -> Found:
    return Found(list(WANT), [inner_gap, last_gap])


def test_equal_results_and_swaps_within_a_run_pass() -> None:
    assert compare(list(WANT), found()) == []
    swapped: Scored = [WANT[0], ((3,), -2.0), ((2,), -2.00001), WANT[3]]
    assert compare(swapped, found()) == []


@pytest.mark.parametrize(
    ("ours", "words"),
    [
        ([*WANT[:3], ((4,), -3.0002)], "place 3: score"),
        ([*WANT[:3], ((5,), -3.0)], r"places 3 to 3: \[\(5,\)\] instead of \[\(4,\)\]"),
        ([((2,), -1.0), ((1,), -2.0), *WANT[2:]], "SID \\(2,\\): score"),
        (WANT[:3], "3 results where the oracle has 4"),
        ([*WANT[:3], ((3,), -3.0)], "twice"),
        ([WANT[0], ((2,), -2.00005), ((3,), -2.0), WANT[3]], "not best first"),
        ([*WANT[:3], ((4,), float("nan"))], "NaN"),
    ],
)
def test_differences_are_named(ours: Scored, words: str) -> None:
    problems = compare(ours, found())
    assert any(re.search(words, problem) for problem in problems), problems


def test_last_run_is_free_only_where_the_width_cut_it() -> None:
    other: Scored = [*WANT[:3], ((5,), -3.00002)]
    assert compare(other, found(last_gap=5e-5)) == []
    assert compare(other, found(last_gap=2e-4)) != []
    first: Scored = [((5,), -1.0), *WANT[1:]]
    assert compare(first, found(last_gap=5e-5)) != []


def test_users_are_excused_only_by_a_near_cut() -> None:
    other: Scored = [((9,), -1.0), *WANT[1:]]
    twice: Scored = [((2,), -1.0), *WANT[1:]]
    outcome = compare_users(
        {"same": list(WANT), "near": other, "far": other, "broken": twice},
        {
            "same": found(),
            "near": found(inner_gap=1e-5),
            "far": found(inner_gap=1e-3),
            "broken": found(inner_gap=1e-5),
        },
    )
    assert outcome.equal == ["same"]
    assert outcome.excused == ["near"]
    assert sorted(outcome.different) == ["broken", "far"]


def test_check_bounds_the_excuses(capsys: pytest.CaptureFixture[str]) -> None:
    Comparison(equal=["a"] * 49, excused=["x"]).check()
    assert "49 of 50 users equal; excused: ['x']" in capsys.readouterr().out
    with pytest.raises(AssertionError, match="2 of 50 users excused"):
        Comparison(equal=["a"] * 48, excused=["x", "y"]).check()
    with pytest.raises(AssertionError, match="user z: worse"):
        Comparison(equal=["a"], different={"z": ["worse"]}).check()
    with pytest.raises(AssertionError, match="no users"):
        Comparison().check()
