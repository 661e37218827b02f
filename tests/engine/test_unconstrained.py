"""The search without the catalogue, for measuring what the constraint is worth."""

from __future__ import annotations

import itertools

import pytest

from tests.engine.world import World, make_world, token_beams
from tests.oracle.beam import beam_search
from tests.oracle.compare import compare
from xgr.engine.evaluate import evaluate

HISTORY = [5, 8, 1]
VOCAB = 24


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A vocabulary small enough to score every sequence of it."""
    return make_world(tmp_path_factory.mktemp("free"), vocab_size=VOCAB, items=300)


@pytest.mark.parametrize("widths", [1, 16, 33, [2, 40, 50]])
def test_equals_a_search_over_the_whole_vocabulary(world: World, widths: int | list[int]) -> None:
    found = world.recommender(constrained=False).recommend([HISTORY], 10, widths)[0]
    every = itertools.product(range(VOCAB), repeat=3)
    oracle = beam_search(world.model, world.prompt(HISTORY), every, widths)
    assert compare(token_beams(found), oracle) == []


def test_invalid_sids_are_counted_and_yield_no_items(world: World) -> None:
    found = world.recommender(constrained=False).recommend([HISTORY], 5000, 1500)[0]
    sids = {world.tokens(codes): items for codes, items in world.sids.items()}
    legal = [beam for beam in found.beams() if beam.token_ids in sids]
    assert found.n_valid == 1500
    assert found.invalid == 1500 - len(legal)
    assert 0 < len(legal) < 1500, "choose a width at which some SIDs come out"
    for beam in found.beams():
        assert list(beam.item_ids) == sids.get(beam.token_ids, [])
        assert beam.codes is None or world.tokens(beam.codes) == beam.token_ids
        assert (beam.codes is None) == (beam.token_ids not in sids)
    assert [item.item_id for item in found] == [i for beam in legal for i in beam.item_ids]
    assert [item.score for item in found] == [b.score for b in legal for _ in b.item_ids]


def test_scores_are_those_of_the_constrained_search(world: World) -> None:
    free = world.recommender(constrained=False).recommend([HISTORY], 5000, 1500)[0]
    bound = world.recommender().recommend([HISTORY], 1000, 300)[0]
    want = {beam.token_ids: beam.score for beam in bound.beams()}
    shared = {b.token_ids: b.score for b in free.beams() if b.token_ids in want}
    assert shared
    assert all(score == pytest.approx(want[sid], abs=1e-4) for sid, score in shared.items())


def test_evaluate_reports_the_share(world: World) -> None:
    histories = {str(n): [n, n + 1, n + 2] for n in range(6)}
    free = evaluate(world.recommender(constrained=False), histories, beam_width=30)
    bound = evaluate(world.recommender(), histories, beam_width=30)
    assert free.metrics()["invalid_rate"] > 0.5  # random weights know no SIDs
    assert free.beams == 6 * 30
    assert bound.metrics()["invalid_rate"] == 0
    assert bound.beams == 6 * 30
