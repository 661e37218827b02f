"""The whole engine on the fake device: tiny models, launched and replayed, in any legal order."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ascend.fake_cann.calls import logged, order
from tests.ascend.runtime.world import NPU, beam_kernels
from tests.engine.test_batches import make_requests, run
from tests.engine.world import Scored, World, beams, make_world
from xgr import Recommender

# of a score, as float16 is rounded in other places here and there
CLOSE = 0.02


@pytest.fixture(scope="module", params=["qwen3", "qwen2", "llama"])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> World:
    beam_kernels()
    folder = tmp_path_factory.mktemp(request.param)
    return make_world(folder, request.param, num_hidden_layers=2, hidden_size=64)  # heads of 16


def on_device(world: World, **options: Any) -> Recommender:
    return world.recommender(device="npu", dtype="float16", **options)


def assert_close(got: Scored, want: Scored) -> None:
    """The same scores up to rounding; SIDs that one side alone kept are near the last one."""
    ours, theirs = dict(got), dict(want)
    assert len(ours) == len(theirs)
    for sid in ours.keys() & theirs.keys():
        assert ours[sid] == pytest.approx(theirs[sid], abs=CLOSE)
    last = min(theirs.values(), default=0.0)
    for sid in ours.keys() ^ theirs.keys():
        score = ours.get(sid, theirs.get(sid))
        assert score == pytest.approx(last, abs=2 * CLOSE)


@pytest.mark.parametrize("kv_mode", ["ancestors", "reorder"])
@pytest.mark.parametrize("normalize", ["vocab", "level", "children", "none"])
def test_the_device_finds_what_the_cpu_finds(world: World, kv_mode: str, normalize: str) -> None:
    want = run(world.recommender(dtype="float16", normalize=normalize), make_requests(world))
    device = on_device(world, kv_mode=kv_mode, normalize=normalize)
    first = run(device, make_requests(world))
    for got, one in zip(first, want, strict=True):
        assert_close(beams(got), beams(one))
    # the first batch of a bucket is launched call by call, later ones are replays of a graph
    with logged() as calls:
        second = run(device, make_requests(world))
    assert "aclmdlRIExecuteAsync" in {launch.name for launch in calls.launches}
    for replayed, one in zip(second, first, strict=True):
        assert beams(replayed) == beams(one)


def test_one_graph_serves_prompts_of_other_lengths(world: World) -> None:
    """Their lengths are attributes of calls: a replay that kept the first ones would be wrong."""
    device = on_device(world)
    for lengths in ((9, 3), (1, 2), (4, 12), (12, 1)):
        histories = [list(range(length)) for length in lengths]
        for history, found in zip(histories, device.recommend(histories, 9, 9), strict=True):
            alone = on_device(world, graph_tokens=0).recommend([history], 9, 9)[0]
            assert_close(beams(found), beams(alone))


@pytest.mark.parametrize("seed", range(1, 5))
def test_any_legal_order_of_the_streams_gives_the_same_bits(world: World, seed: int) -> None:
    """With other lengths in each round, so that a graph is updated between two replays of it."""
    requests = make_requests(world)
    rounds = [requests, requests[::-1], requests[3:] + requests[:3], requests] * 2
    plain, device = on_device(world, max_requests=3), on_device(world, lanes=2, max_requests=3)
    want = [[beams(found) for found in run(plain, one)] for one in rounds]
    with order(seed):
        for one, beams_of in zip(rounds, want, strict=True):
            assert [beams(found) for found in run(device, one)] == beams_of
        NPU.synchronize()


def test_steady_state_takes_no_memory_of_the_device(world: World) -> None:
    device, requests = on_device(world, max_requests=3), make_requests(world)
    for _ in range(4):
        run(device, requests)
    NPU.synchronize()
    before = NPU.memory_reserved()
    for _ in range(4):
        run(device, requests)
    NPU.synchronize()
    assert NPU.memory_reserved() == before


@pytest.mark.parametrize("seed", range(1, 9))
def test_an_updated_graph_is_replayed_behind_its_update(world: World, seed: int) -> None:
    batches = [[list(range(n)) for n in lengths] for lengths in ((9, 3), (4, 8), (10, 2), (5, 7))]
    plain, device = on_device(world, graph_tokens=0), on_device(world)
    want = [[beams(found) for found in plain.recommend(one, 9, 9)] for one in batches]
    for one in batches:
        device.recommend(one, 9, 9)
    with order(seed):
        for one, expected in zip(batches, want, strict=True):
            found = device.recommend(one, 9, 9)
            for got, beams_of in zip(found, expected, strict=True):
                assert_close(beams(got), beams_of)
        NPU.synchronize()
