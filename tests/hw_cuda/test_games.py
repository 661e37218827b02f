"""Users of the Games checkpoint on the device and on the CPU."""

from __future__ import annotations

from math import inf

from benchmarks.cuda_parity import compare, games, hits
from tests.engine.world import beams
from tests.oracle.beam import Found
from tests.oracle.compare import compare_users
from xgr import Recommender

USERS = 500


def test_games_on_the_device_is_games_on_the_cpu() -> None:
    """float32 by the rule that holds the CPU to its oracle, bfloat16 within roundings."""
    prompts, targets, where = games(USERS)
    users = [str(at) for at in range(USERS)]
    cpu = Recommender.from_pretrained(*where, max_items=50)
    want = cpu.recommend(prompts, 10, 50)
    exact = {user: Found(beams(one), [inf]) for user, one in zip(users, want, strict=True)}
    for kv_mode in ("ancestors", "reorder"):
        for dtype in ("float32", "bfloat16"):
            device = Recommender.from_pretrained(
                *where, device="cuda", dtype=dtype, max_items=50, kv_mode=kv_mode
            )
            got = device.recommend(prompts, 10, 50)
            if dtype == "float32":
                compare_users(dict(zip(users, map(beams, got), strict=True)), exact).check(0)
                continue
            found = compare(want, got)
            assert found["overlap@10"] >= 0.95
            assert found["max_score_difference"] <= 5e-2
            assert abs(hits(got, targets) - hits(want, targets)) <= 2
