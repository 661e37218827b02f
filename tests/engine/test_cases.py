"""Shapes that broke others: wide beams, tiny and deep catalogues, shared SIDs, low precision."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.engine.world import Brute, World, assert_same, beams, make_world, token_beams
from tests.oracle.beam import beam_search
from tests.oracle.compare import compare
from xgr import Recommender
from xgr.engine import Request

HISTORY = [5, 8, 1]


def check(world: World, recommender: Recommender, history: list[int], widths: Any) -> None:
    """Search and items against brute force."""
    brute = Brute(world, world.prompt(history))
    want = brute.search(widths)
    found = recommender.recommend([history], 1000, widths)[0]
    assert brute.gap > 1e-5
    assert_same(beams(found), want)
    assert [item.item_id for item in found] == brute.items(want, 1000)
    assert found.n_valid == len(want)
    assert found.invalid == 0


@pytest.mark.parametrize("width", [1, 2, 5, 6, 7, 31, 32, 33, 35, 36, 37, 64, 127, 128, 129, 1000])
def test_any_width_and_fewer_results_without_junk(
    world: World, recommender: Recommender, width: int
) -> None:
    """36 SIDs, 6 codes at level 0."""
    check(world, recommender, HISTORY, width)
    assert len(recommender.recommend([HISTORY], 1000, width)[0].beams()) == min(width, 36)


def test_k_is_separate_from_the_width(recommender: Recommender) -> None:
    whole = [item.item_id for item in recommender.recommend([HISTORY], 1000, 8)[0]]
    for k in (1, 3, 8, 100):
        found = recommender.recommend([HISTORY], k, 8)[0]
        assert [item.item_id for item in found] == whole[:k]
        assert len(found.beams()) == 8
        scores = [item.score for item in found]
        assert scores == sorted(scores, reverse=True)


def test_history_of_one_item_and_of_many(world: World, recommender: Recommender) -> None:
    check(world, recommender, [7], 40)
    check(world, recommender, [7] * 41, 40)  # 124 of 128 positions


@pytest.mark.parametrize("widths", [1, 3, 9, [4]])
def test_one_level(tmp_path: Path, widths: Any) -> None:
    sids = {n: (n % 6,) for n in range(9)}
    world = make_world(tmp_path, codes=(7,), catalogue=sids)
    for kv_mode in ("ancestors", "reorder"):
        recommender = world.recommender(kv_mode=kv_mode)
        check(world, recommender, HISTORY, widths)
        longest = recommender.recommend(token_ids=[[1] * 128], beam_width=widths)
        assert longest[0].n_valid > 0  # nothing more is fed back: every position is the prompt's


@pytest.mark.parametrize("depth", [2, 4, 6])
def test_other_depths(tmp_path: Path, depth: int) -> None:
    draw = random.Random(depth)
    sids = {n: tuple(draw.randrange(3) for _ in range(depth)) for n in range(50)}
    world = make_world(tmp_path, codes=(3,) * depth, catalogue=sids)
    for kv_mode in ("ancestors", "reorder"):
        recommender = world.recommender(kv_mode=kv_mode)
        check(world, recommender, HISTORY, 1000)
        widths = [draw.randint(1, 9) for _ in range(depth)]
        oracle = beam_search(
            world.model, world.prompt(HISTORY), map(world.tokens, world.sids), widths
        )
        found = recommender.recommend([HISTORY], 50, widths)[0]
        assert compare(token_beams(found), oracle) == []


def test_one_item(tmp_path: Path) -> None:
    world = make_world(tmp_path, catalogue={4: (1, 2, 3)})
    check(world, world.recommender(), [4], 128)
    found = world.recommender().recommend([[4]], exclude_history=True)[0]
    assert (len(found), found.n_valid) == (0, 0)
    assert world.recommender(normalize="children").recommend([[4]])[0][0].score == 0


def test_chains_with_one_child_and_a_level_with_one_code(tmp_path: Path) -> None:
    sids = {n: (n % 6, 0, n % 7) for n in range(6)}
    world = make_world(tmp_path, codes=(6, 1, 7), catalogue=sids)
    check(world, world.recommender(), HISTORY[:1], 128)
    check(world, world.recommender(), HISTORY[:1], [2, 1, 5])


def test_65_items_on_one_sid(tmp_path: Path) -> None:
    sids = {n: (1, 2, 3) if n < 65 else (n % 6, n % 5, n % 7) for n in range(90)}
    world = make_world(tmp_path, catalogue=sids)
    recommender = world.recommender()
    check(world, recommender, HISTORY, 64)
    for allow in (range(65), [64], [64, 3]):
        found = recommender.recommend([HISTORY], 100, 8, allow=allow)[0]
        assert [item.item_id for item in found] == sorted(allow)  # the order of the file
        assert len({item.score for item in found}) == 1
    few = recommender.recommend([HISTORY], 100, 64, per_sid=2)[0]
    assert [item.item_id for item in few if int(item.item_id) < 65] == [0, 1]


def test_items_beyond_the_trie_are_not_decoded(world: World, recommender: Recommender) -> None:
    for beam in recommender.recommend([HISTORY], 10, 40)[0].beams():
        assert len(beam.token_ids) == len(beam.level_scores) == world.depth


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_low_precision_ranks_as_its_own_scores_say(world: World, dtype: str) -> None:
    recommender = world.recommender(dtype=dtype)
    full = dict(beams(world.recommender().recommend([HISTORY], 40, 40)[0]))
    found = recommender.recommend([HISTORY], 40, 40)[0]
    scores = [score for _, score in beams(found)]
    assert scores == sorted(scores, reverse=True)
    assert {sid for sid, _ in beams(found)} == set(full)
    # logits of some units in 8 bits of mantissa
    room = {"bfloat16": 0.5, "float16": 0.05}[dtype]
    assert all(score == pytest.approx(full[sid], abs=room) for sid, score in beams(found))
    assert beams(found) != list(full.items())


def test_a_hot_head_stays_inside_the_catalogue(tmp_path: Path) -> None:
    """The model's favourite continuation is no item: legal alone, illegal behind its prefix."""
    world = make_world(tmp_path, catalogue={0: (1, 1, 0), 1: (2, 2, 0)}, codes=(6, 5, 7))
    for width in (1, 2, 5):
        found = world.recommender().recommend([[0]], 10, width)[0]
        assert len(found) == min(width, 2)
        assert {codes for codes, _ in beams(found)} <= {(1, 1, 0), (2, 2, 0)}


def test_rows_at_the_limit(world: World) -> None:
    """Requests fill a batch to the last row; the bucket has no spare one."""
    recommender = world.recommender(max_rows=48, max_requests=8)
    widths = [33, 15, 47, 1, 40, 8, 48]
    requests = [Request(world.prompt([3, at]), width, 50) for at, width in enumerate(widths)]
    many = recommender.engine.run(requests, recommender.store.current)
    for request, got in zip(requests, many, strict=True):
        alone = world.recommender().engine.run([request], recommender.store.current)[0]
        assert not isinstance(got, Exception)
        assert not isinstance(alone, Exception)
        assert_same(beams(got), beams(alone), tolerance=1e-5)
