"""Early termination of beam_sort: equal to the full sort, and fewer candidates are visited."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import xgr
from xgr.backends.cpu_ref.fast import beam_sort as fast
from xgr.backends.cpu_ref.reference.beam_sort import beam_sort as full_sort
from xgr.ops.beams import scores as scores_of
from xgr.ops.spec import Problem
from xgr.registry.bind import BoundContext

Floats = NDArray[np.float32]
Outputs = dict[str, NDArray[Any]]

WIDTHS = [1, 2, 31, 32, 33, 127, 128, 129, 511, 512, 513, 1023, 1024, 1025]
DATA = ["normal", "ties", "flat", "peaked", "low", "minus_inf"]


def one_request(launch: Any, scores: Floats, cumulative: Floats, width: int, order: str) -> Outputs:
    outputs: Outputs = {
        "parent": np.empty(width, np.int32),
        "code": np.empty(width, np.int32),
        "score": np.empty(width, np.float32),
        "live_out": np.empty(1, np.int32),
    }
    launch(
        scores=scores,
        cumulative=cumulative,
        row_start=np.array([0, len(scores)], np.int32),
        live=np.array([len(scores)], np.int32),
        row_start_out=np.array([0, width], np.int32),
        out_width=np.array([width], np.int32),
        order=order,
        **outputs,
    )
    return outputs


def assert_equal(one: Outputs, other: Outputs) -> None:
    for name, values in one.items():
        np.testing.assert_array_equal(values, other[name], err_msg=name)


@given(
    data=st.sampled_from(DATA),
    rows=st.integers(1, 40),
    columns=st.integers(1, 60),
    width=st.sampled_from(WIDTHS),
    order=st.sampled_from(["path", "rank"]),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=150, deadline=None)
def test_equals_the_full_sort(
    data: str, rows: int, columns: int, width: int, order: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    scores = scores_of(rng, data, rows, columns)
    cumulative = np.round(4 * rng.normal(size=rows)).astype(np.float32)
    got = one_request(fast.BeamSort(), scores, cumulative, width, order)
    assert_equal(got, one_request(full_sort, scores, cumulative, width, order))


@given(
    rows=st.lists(
        st.lists(st.sampled_from([-np.inf, -2.0, -1.0, -0.0, 0.0, 1.0]), min_size=5, max_size=5),
        min_size=1,
        max_size=6,
    ),
    width=st.integers(1, 12),
)
@settings(max_examples=200, deadline=None)
def test_ties_at_the_cut(rows: list[list[float]], width: int) -> None:
    scores = np.array(rows, np.float32)
    cumulative = np.zeros(len(rows), np.float32)
    for order in ("path", "rank"):
        got = one_request(fast.BeamSort(), scores, cumulative, width, order)
        assert_equal(got, one_request(full_sort, scores, cumulative, width, order))


@pytest.mark.parametrize("tiles", [1, 2, 4, 16])
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("order", ["path", "rank"])
def test_pruned_tiles_equal_the_full_sort(tiles: int, data: str, order: str) -> None:
    rng = np.random.default_rng(3)
    scores = scores_of(rng, data, 40, 60)
    cumulative = np.round(4 * rng.normal(size=40)).astype(np.float32)
    for width in (0, 1, 33, 128, 1025, 3000):
        got = one_request(fast.BeamSort(tiles), scores, cumulative, width, order)
        assert_equal(got, one_request(full_sort, scores, cumulative, width, order))


def visited_share(scores: Floats, cumulative: Floats, width: int, **config: int) -> float:
    problem = Problem.of("beam_sort", "float32", {"order": "path"}, B=1, RO=width)
    launch = fast.build(problem, BoundContext(xgr.runtime("cpu"), config))
    assert isinstance(launch, fast.BeamSort)
    one_request(launch, scores, cumulative, width, "path")
    assert launch.candidates == np.count_nonzero(scores > -np.inf)
    return launch.visited / launch.candidates


@pytest.mark.parametrize("apart", [0, 1])
def test_few_more_are_visited_than_survive(apart: int) -> None:
    rng = np.random.default_rng(0)
    scores = scores_of(rng, "normal", 128, 256)
    cumulative = -apart * np.arange(128, dtype=np.float32)
    assert visited_share(scores, cumulative, 128) < 1.5 * 128 / scores.size


def test_more_tiles_leave_less_to_visit() -> None:
    rng = np.random.default_rng(0)
    scores, cumulative = scores_of(rng, "normal", 128, 256), np.zeros(128, np.float32)
    shares = [visited_share(scores, cumulative, 128, tiles=tiles) for tiles in (1, 4, 16)]
    assert shares == sorted(shares, reverse=True)
    assert len(set(shares)) == 3


def test_of_equal_scores_the_first_alone_are_visited() -> None:
    scores = np.zeros((128, 256), np.float32)
    assert visited_share(scores, np.zeros(128, np.float32), 128) == 128 / scores.size


def test_no_candidate_is_counted_twice() -> None:
    rng = np.random.default_rng(1)
    scores = scores_of(rng, "minus_inf", 10, 30)
    assert visited_share(scores, np.zeros(10, np.float32), 1000) == 1


def test_counts_add_up_until_reset() -> None:
    launch = fast.BeamSort()
    scores = np.zeros((4, 8), np.float32)
    for times in (1, 2):
        one_request(launch, scores, np.zeros(4, np.float32), 4, "rank")
        assert launch.candidates == times * 32
    launch.reset()
    assert (launch.visited, launch.candidates) == (0, 0)
