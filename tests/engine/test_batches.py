"""A request in a batch is the request alone, whatever runs beside it, before it or after it."""

from __future__ import annotations

import random
import threading
from dataclasses import replace
from typing import Any

import pytest

from tests.engine.world import World, assert_same, beams, make_world
from xgr import Recommender
from xgr.engine import Engine, Recommendations, Request

WIDTHS: list[Any] = [1, 5, 33, [6, 3, 1], [2, 9, 40], [1, 1, 7], 2, [3, 30, 8]]


def make_requests(world: World) -> list[Request]:
    """Eight users of other lengths, widths, filters and k."""
    draw = random.Random(7)
    requests = []
    for at, width in enumerate(WIDTHS):
        history = draw.choices(range(40), k=[1, 2, 30, 5, 11, 17, 3, 8][at])
        requests.append(Request(world.prompt(history), width, k=1 + 5 * at))
    requests[1] = replace(requests[1], exclude=range(0, 40, 2))
    requests[4] = replace(requests[4], allow=[1, 2, 3, 39])
    requests[6] = replace(requests[6], filters=["odd"], per_sid=1)
    return requests


def run(recommender: Recommender, requests: list[Request]) -> list[Recommendations]:
    recommender.store.current.register_filter("odd", allow=range(1, 40, 2))
    outcomes = recommender.engine.run(requests, recommender.store.current)
    found = [one for one in outcomes if isinstance(one, Recommendations)]
    assert len(found) == len(outcomes)
    return found


def assert_equal(got: Recommendations, want: Recommendations) -> None:
    assert_same(beams(got), beams(want), tolerance=1e-5)
    assert [item.item_id for item in got] == [item.item_id for item in want]


@pytest.fixture(scope="module")
def alone(world: World) -> list[Recommendations]:
    recommender = world.recommender(max_requests=1)
    return run(recommender, make_requests(world))


@pytest.mark.parametrize("size", range(1, 9))
@pytest.mark.parametrize("kv_mode", ["ancestors", "reorder"])
def test_batches_of_every_size(
    world: World, alone: list[Recommendations], size: int, kv_mode: str
) -> None:
    recommender = world.recommender(max_requests=size, kv_mode=kv_mode)
    for got, want in zip(run(recommender, make_requests(world)), alone, strict=True):
        assert_equal(got, want)


def test_any_order_of_the_batch(world: World, alone: list[Recommendations]) -> None:
    recommender, requests = world.recommender(), make_requests(world)
    for seed in range(5):
        order = random.Random(seed).sample(range(8), 8)
        for at, got in zip(order, run(recommender, [requests[i] for i in order]), strict=True):
            assert_equal(got, alone[at])


@pytest.mark.parametrize("limits", [{"max_rows": 40}, {"max_tokens": 100}, {"max_requests": 3}])
def test_batches_are_cut_at_the_limits(
    world: World, alone: list[Recommendations], limits: dict[str, int]
) -> None:
    for got, want in zip(
        run(world.recommender(**limits), make_requests(world)), alone, strict=True
    ):
        assert_equal(got, want)


def test_lanes_give_the_same_in_order(world: World) -> None:
    histories = [random.Random(at).choices(range(40), k=1 + at % 9) for at in range(23)]
    one = world.recommender(max_requests=2).recommend(histories, 10, 9)
    seen: list[int] = []
    two = world.recommender(max_requests=2, lanes=2)
    found = two.recommend(histories, 10, 9, progress=seen.append)
    for got, want in zip(found, one, strict=True):
        assert_equal(got, want)
    assert sum(seen) == 23
    assert max(seen) == 2


def test_kv_modes_are_bit_equal(world: World) -> None:
    by_mode = [
        run(world.recommender(kv_mode=mode), make_requests(world))
        for mode in ("ancestors", "reorder")
    ]
    for one, other in zip(*by_mode, strict=True):
        assert beams(one) == beams(other)


@pytest.mark.parametrize("kv_mode", ["ancestors", "reorder"])
def test_kv_modes_on_four_levels(tmp_path: Any, kv_mode: str) -> None:
    draw = random.Random(1)
    sids = {n: tuple(draw.randrange(4) for _ in range(4)) for n in range(60)}
    world = make_world(tmp_path, codes=(4, 4, 4, 4), catalogue=sids)
    recommender = world.recommender(kv_mode=kv_mode)
    base = world.recommender(kv_mode="ancestors", max_requests=1)
    histories, widths = [[1, 2, 3], [4], list(range(20))], [3, 8, 5, 12]
    found = recommender.recommend(histories, 60, widths)
    for got, want in zip(found, base.recommend(histories, 60, widths), strict=True):
        assert_equal(got, want)


def test_repeated_calls_are_bit_equal(world: World, recommender: Recommender) -> None:
    """Long prompt, short prompt, other bucket, long again: nothing of a batch stays behind."""
    long, short = list(range(25)), [3]
    first = [beams(found) for found in recommender.recommend([long, short, long], 40, 9)]
    assert first[0] == beams(recommender.recommend([long, short, long], 40, 9)[0])
    one = beams(recommender.recommend([long], 40, 9)[0])
    few = beams(recommender.recommend([short], 40, [6, 30, 40])[0])
    assert beams(recommender.recommend([short], 40, [6, 30, 40], exclude=[2])[0]) != few
    assert beams(recommender.recommend([long], 40, 9)[0]) == one
    assert beams(recommender.recommend([short], 40, [6, 30, 40])[0]) == few
    fresh = world.recommender()
    assert beams(fresh.recommend([short], 40, [6, 30, 40])[0]) == few


def test_buckets_beyond_what_is_kept(world: World) -> None:
    """More shapes of batches than programs that are kept: each is right when it comes again."""
    recommender = world.recommender()
    shapes = [(n, w) for n in (1, 9, 19, 29) for w in (1, 9, 17, 25, 33)]
    batches = [[[5] * n] * (1 + at % 3) for at, (n, _) in enumerate(shapes)]
    first = []
    for turn in range(2):
        for at, (batch, (_, width)) in enumerate(zip(batches, shapes, strict=True)):
            found = [beams(one) for one in recommender.recommend(batch, 40, width)]
            if turn == 0:
                first.append(found)
                want = beams(world.recommender().recommend(batch[:1], 40, width)[0])
                assert_same(found[-1], want, tolerance=1e-5)
            assert found == first[at]


def test_batches_are_launched_ahead_and_collected_in_any_order(world: World) -> None:
    """Batches of one bucket share every buffer; their results do not."""
    recommender = world.recommender()
    engine, catalogue = recommender.engine, recommender.store.current
    prepared = [
        engine.prepare(Request(world.prompt(history), 5, 5), catalogue)
        for history in ([3], [4], [5, 8, 1])
    ]
    want = [engine.collect(engine.launch([one], catalogue))[0] for one in prepared]
    batches = [engine.launch([one], catalogue) for one in prepared]
    for at in (2, 0, 1):
        assert beams(engine.collect(batches[at])[0]) == beams(want[at])


def test_threads_share_a_recommender_and_a_device(world: World) -> None:
    shared, own = world.recommender(lanes=2), world.recommender()
    assert not {id(e.rt) for e in shared.lanes.engines} & {id(own.engine.rt)}
    histories = [[3], [5, 8, 1], list(range(20))]
    want = own.recommend(histories, 40, 12)
    scores = own.score([3], range(40))
    done: list[str] = []

    def call(recommender: Recommender) -> None:
        for _ in range(5):
            for got, one in zip(recommender.recommend(histories, 40, 12), want, strict=True):
                assert_equal(got, one)
            assert recommender.score([3], range(40)) == pytest.approx(scores, abs=1e-5)
        done.append("well")

    threads = [threading.Thread(target=call, args=(one,)) for one in (shared, shared, shared, own)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == ["well"] * 4


def test_steady_state_allocates_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    recommender = world.recommender()
    requests = make_requests(world)
    run(recommender, requests)
    engine: Engine = recommender.engine

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("memory was asked for")

    monkeypatch.setattr(type(engine.rt.backend), "empty", refuse)
    monkeypatch.setattr(type(engine.rt.backend), "upload", refuse)
    run(recommender, requests)
