"""Buckets of a batch: what its kernels are told of its prompts."""

from __future__ import annotations

import pytest

from tests.engine.world import World
from xgr.backends.null.backend import NullBackend
from xgr.engine.config import EngineConfig
from xgr.engine.layout import arena_bucket, lay_out
from xgr.engine.request import Request

ATTENTION = ("staged_attention", "prefill_attention")


class Blocks(NullBackend):
    arena_granule = 128


@pytest.mark.parametrize(
    ("tokens", "bucket"),
    [(0, 32), (1, 32), (33, 64), (96, 96), (97, 128), (1024, 1024), (1025, 1536), (1537, 2048)],
)
def test_the_bucket_of_the_arena_is_a_power_of_two_or_half_as_much_again(
    tokens: int, bucket: int
) -> None:
    assert arena_bucket(tokens, NullBackend()) == bucket
    assert arena_bucket(tokens, Blocks()) % 128 == 0


def test_the_bucket_holds_every_prompt_where_it_lies() -> None:
    requests = [Request([1] * length, 4) for length in (130, 5, 300)]
    layout = lay_out(requests, 3, 0, Blocks())
    assert layout.prompt_start == [0, 256, 384]
    assert 384 + 300 <= layout.arena == 768


def test_kernels_are_chosen_for_the_prompts_of_the_batch_not_for_the_arena(world: World) -> None:
    recommender = world.recommender(max_tokens=4096, max_requests=8)
    engine, history = recommender.engine, [1, 2, 3]
    told = set()
    for users in (1, 8):
        recommender.recommend([history] * users, 5, 4)
        tokens = users * len(world.prompt(history))
        bound = [c.problem for c in engine.rt.choices() if c.problem.op in ATTENTION]
        told.add((arena_bucket(tokens, engine.rt.backend), *sorted({p.sizes["T"] for p in bound})))
    small, both = sorted(told, key=len)
    assert small == (32, 32)
    assert both == (96, 32, 96)


def test_an_engine_as_it_comes_captures_every_prefill() -> None:
    assert EngineConfig().graph_tokens >= EngineConfig().max_tokens
