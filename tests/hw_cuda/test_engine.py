"""The engine on the device against the engine on the CPU: tiny random models, float32."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.engine.test_batches import WIDTHS, make_requests, run
from tests.engine.world import World, assert_same, beams, make_world, token_beams
from xgr import Recommender

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


def test_steady_state_allocates_nothing(world: World) -> None:
    device, requests = on_device(world), make_requests(world)
    for _ in range(2):
        run(device, requests)
    torch.cuda.synchronize()
    before = torch.cuda.memory_stats()["allocation.all.allocated"]
    run(device, requests)
    assert torch.cuda.memory_stats()["allocation.all.allocated"] == before


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
