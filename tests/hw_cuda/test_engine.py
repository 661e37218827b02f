"""The engine on the device against the engine on the CPU: tiny random models, float32."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.engine.test_batches import WIDTHS, make_requests, run
from tests.engine.world import World, assert_same, beams, make_world, token_beams
from xgr import Recommender, runtime
from xgr.engine import Request

FAMILIES = ("qwen3", "qwen2", "llama")


@pytest.fixture(scope="module", params=FAMILIES)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp(request.param), request.param)


def on_device(world: World, **options: Any) -> Recommender:
    return world.recommender(device="cuda", dtype="float32", **options)


@pytest.mark.parametrize("kv_mode", ["ancestors", "reorder"])
@pytest.mark.parametrize(
    "options",
    [{"normalize": n} for n in ("vocab", "level", "children", "none")] + [{"end_tokens": (2, 9)}],
    ids=str,
)
def test_the_device_finds_what_the_cpu_finds(
    world: World, kv_mode: str, options: dict[str, Any]
) -> None:
    want = run(world.recommender(**options), make_requests(world))
    device = on_device(world, kv_mode=kv_mode, **options)
    first = run(device, make_requests(world))
    for got, one in zip(first, want, strict=True):
        assert_same(beams(got), beams(one))
        assert [item.item_id for item in got] == [item.item_id for item in one]
    # the first batch of a bucket is launched op by op, later ones are replays of a graph
    for replayed, one in zip(run(device, make_requests(world)), first, strict=True):
        assert beams(replayed) == beams(one)


def test_search_without_a_catalogue(world: World) -> None:
    histories = [[3], [5, 8, 1], list(range(20))]
    want = world.recommender(constrained=False).recommend(histories, 10, [3, 30, 8])
    found = on_device(world, constrained=False).recommend(histories, 10, [3, 30, 8])
    for got, one in zip(found, want, strict=True):
        assert_same(token_beams(got), token_beams(one))


@pytest.mark.parametrize("size", [1, 3])
def test_batches_of_other_sizes(world: World, size: int) -> None:
    want = run(world.recommender(), make_requests(world))
    device = on_device(world, max_requests=size)
    for got, one in zip(run(device, make_requests(world)), want, strict=True):
        assert_same(beams(got), beams(one))


@pytest.mark.parametrize("lanes", [1, 2])
def test_steady_state_allocates_nothing(world: World, lanes: int) -> None:
    device, requests = on_device(world, lanes=lanes, max_requests=3), make_requests(world)
    for _ in range(10):
        run(device, requests)
    torch.cuda.synchronize()
    before = torch.cuda.memory_stats()["allocation.all.allocated"]
    for _ in range(20):
        run(device, requests)
    assert torch.cuda.memory_stats()["allocation.all.allocated"] == before


def test_steady_state_pins_nothing(world: World) -> None:
    device = on_device(world)
    engine, catalogue = device.engine, device.store.current
    prepared = [engine.prepare(Request(world.prompt([at]), 9, 9), catalogue) for at in range(8)]

    def serve() -> None:
        for one in (engine.launch(prepared[:4], catalogue), engine.launch(prepared[4:], catalogue)):
            engine.collect(one)

    for _ in range(3):
        serve()
    before = torch.cuda.host_memory_stats()["num_host_alloc"]
    for _ in range(20):
        serve()
    assert torch.cuda.host_memory_stats()["num_host_alloc"] == before


def test_a_captured_prefill_is_the_one_that_is_launched(world: World) -> None:
    requests = make_requests(world)
    captured, launched = on_device(world), on_device(world, graph_tokens=0)
    run(captured, requests)
    pairs = zip(run(captured, requests), run(launched, requests), strict=True)
    assert all(beams(got) == beams(one) for got, one in pairs)


def test_one_graph_of_prefill_serves_prompts_of_other_lengths(world: World) -> None:
    """Of one bucket, longer and shorter, in batches of one size."""
    captured, launched = on_device(world), on_device(world, graph_tokens=0)
    for lengths in ((9, 3), (1, 2), (4, 12), (12, 1)):
        histories = [list(range(length)) for length in lengths]
        pairs = zip(
            captured.recommend(histories, 9, 9), launched.recommend(histories, 9, 9), strict=True
        )
        assert all(beams(got) == beams(one) for got, one in pairs)


def test_batches_are_launched_ahead(world: World) -> None:
    device = on_device(world)
    engine, catalogue = device.engine, device.store.current
    prepared = [
        engine.prepare(Request(world.prompt(history), 9, 9), catalogue)
        for history in ([3], [4], [5, 8, 1])
    ]
    want = [engine.collect(engine.launch([one], catalogue))[0] for one in prepared]
    for _ in range(3):
        batches = [engine.launch([one], catalogue) for one in prepared]
        for at in (2, 0, 1):
            assert beams(engine.collect(batches[at])[0]) == beams(want[at])


def test_many_batches_on_their_way(world: World) -> None:
    device = on_device(world, lanes=2)
    with device.store.pin() as catalogue:
        prepared = [
            device.engine.prepare(Request(world.prompt([at, at + 1]), 9, 9), catalogue)
            for at in range(30)
        ]
        futures = [device.lanes.submit([one], catalogue) for one in prepared]
        want = device.recommend([[at, at + 1] for at in range(30)], 9, 9)
        for future, one in zip(futures, want, strict=True):
            assert_same(beams(future.result(60)[0]), beams(one))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_short_types_agree_about_the_best(world: World, dtype: str) -> None:
    want = run(world.recommender(), make_requests(world))
    device = world.recommender(device="cuda", dtype=dtype)
    for width, got, one in zip(WIDTHS, run(device, make_requests(world)), want, strict=True):
        scores = dict(beams(one))
        shared = [(score, scores[sid]) for sid, score in beams(got) if sid in scores]
        # a last level of one beam may keep another of two that are near
        last = width if isinstance(width, int) else width[-1]
        assert shared or last == 1, f"nothing in common at width {width}"
        assert all(abs(a - b) < 0.25 for a, b in shared)


def test_four_levels_and_a_wide_beam(tmp_path: Path) -> None:
    world = make_world(tmp_path, codes=(9, 9, 9, 9), items=600)
    histories = [[1, 2, 3], [4]]
    want = world.recommender().recommend(histories, 60, [9, 81, 130, 129])
    for kv_mode in ("ancestors", "reorder"):
        device = on_device(world, kv_mode=kv_mode)
        for got, one in zip(device.recommend(histories, 60, [9, 81, 130, 129]), want, strict=True):
            assert_same(beams(got), beams(one))


def test_engines_one_after_the_other_take_no_more_memory(world: World) -> None:
    """Libraries keep a workspace for each stream that they have launched on."""
    gc.collect()  # what other tests left
    device, used = runtime("cuda"), list[int]()
    for _ in range(4):
        recommender = on_device(world)
        recommender.recommend([[3], [5, 8, 1]], 9, 9)
        del recommender
        used.append(device.memory().used)
    assert max(used[1:]) <= used[0]
