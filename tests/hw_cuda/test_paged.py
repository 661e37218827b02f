"""The paged baseline on the device, in one graph, forks and all: what the CPU finds, staged."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.engine.test_batches import make_requests, run
from tests.engine.world import assert_same, beams, make_world


@pytest.mark.parametrize("block_tokens", [2, 16])
def test_equals_staged_on_the_cpu(tmp_path: Path, block_tokens: int) -> None:
    world = make_world(tmp_path)
    want = run(world.recommender(max_requests=5), make_requests(world))
    device = world.recommender(
        device="cuda", dtype="float32", attention="paged", block_tokens=block_tokens, max_requests=5
    )
    for _ in range(3):  # the first is launched op by op, later ones are replays of a graph
        for got, one in zip(run(device, make_requests(world)), want, strict=True):
            assert_same(beams(got), beams(one))


def test_blocks_fill_up_on_five_levels(tmp_path: Path) -> None:
    draw = random.Random(1)
    sids = {n: tuple(draw.randrange(3) for _ in range(5)) for n in range(90)}
    world = make_world(tmp_path, codes=(3,) * 5, catalogue=sids)
    histories, widths = [[1, 2, 3], [4], list(range(20))], [2, 8, 5, 14, 9]
    device = world.recommender(device="cuda", dtype="float32", attention="paged", block_tokens=3)
    want = world.recommender().recommend(histories, 60, widths)
    for _ in range(2):
        for got, one in zip(device.recommend(histories, 60, widths), want, strict=True):
            assert_same(beams(got), beams(one))
