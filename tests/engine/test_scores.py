"""What a score is: normalisation, end tokens, re-ranking of given items."""

from __future__ import annotations

import math

import pytest
import torch

from tests.engine.world import Brute, World, assert_same, beams
from xgr import Recommender
from xgr.errors import InputError

HISTORY = [5, 8, 1, 30, 22]
MODES = ["vocab", "level", "children", "none"]


@pytest.mark.parametrize("normalize", MODES)
@pytest.mark.parametrize("widths", [40, [3, 5, 8]])
def test_normalisation(world: World, normalize: str, widths: int | list[int]) -> None:
    recommender = world.recommender(normalize=normalize)
    brute = Brute(world, world.prompt(HISTORY), normalize)
    want = brute.search(widths)
    found = recommender.recommend([HISTORY], 40, widths)[0]
    assert brute.gap > 2e-5
    assert_same(beams(found), want)
    assert found.normalize == normalize
    for beam in found.beams():
        sums = [math.fsum(beam.level_scores[: n + 1]) for n in range(world.depth)]
        codes = beam.codes or ()
        expected = [brute.score[codes[: n + 1]] for n in range(world.depth)]
        assert sums == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("normalize", MODES)
def test_a_filter_never_changes_a_score(world: World, normalize: str) -> None:
    recommender = world.recommender(normalize=normalize)
    free = dict(beams(recommender.recommend([HISTORY], 40, 40)[0]))
    gone = list(range(0, 40, 3))
    kept = beams(recommender.recommend([HISTORY], 40, 40, exclude=gone)[0])
    allowed = beams(recommender.recommend([HISTORY], 40, 40, allow=[2, 4, 7])[0])
    assert 0 < len(allowed) < len(kept) < len(free)
    # equal but for rounding: the beams lie in other rows of the products
    assert all(score == pytest.approx(free[sid], abs=1e-5) for sid, score in kept + allowed)


def test_children_are_a_distribution_over_the_catalogue(world: World) -> None:
    found = world.recommender(normalize="children").recommend([HISTORY], 40, 40)[0]
    assert sum(math.exp(beam.score) for beam in found.beams()) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("ends", [(2,), (2, 9)])
def test_end_tokens_add_their_log_probs(world: World, ends: tuple[int, ...]) -> None:
    prompt = world.prompt(HISTORY)
    found = world.recommender(end_tokens=ends).recommend([HISTORY], 40, 12)[0]
    plain = Brute(world, prompt)
    want = {}
    with torch.inference_mode():
        for sid, score in plain.search(12):
            row = [*prompt, *world.tokens(sid), *ends]
            rows = world.model(torch.tensor([row])).logits[0].double().log_softmax(-1)
            tail = rows[-len(ends) - 1 : -1].gather(-1, torch.tensor(ends)[:, None])
            want[sid] = score + float(tail.sum())
    assert_same(beams(found), sorted(want.items(), key=lambda pair: -pair[1]))
    assert all(len(beam.level_scores) == world.depth + len(ends) for beam in found.beams())
    assert [item.item_id for item in found] == plain.items(beams(found), 40)


def test_score_end_takes_the_templates_end_tokens(world: World) -> None:
    by_name = Recommender.from_pretrained(
        world.folder, world.index, template="plain", score_end=True, lanes=1
    )
    ends = by_name.speller.template.end_token_ids(by_name.speller.tokenizer)
    assert by_name.engine.config.end_tokens == tuple(ends)


@pytest.mark.parametrize("max_rows", [4096, 7])
def test_score_is_the_exact_log_prob_of_each_item(world: World, max_rows: int) -> None:
    recommender = world.recommender(max_rows=max_rows)
    brute = Brute(world, world.prompt(HISTORY))
    items = [39, 0, 17, 3, 3, *range(40)]
    want = [brute.score[world.codes(item)] for item in items]
    assert recommender.score(HISTORY, items) == pytest.approx(want, abs=1e-4)
    assert recommender.score(HISTORY, [0]) == recommender.score(HISTORY, [39])  # one SID
    assert recommender.score(HISTORY, []) == []


def test_score_agrees_with_recommend(world: World, recommender: Recommender) -> None:
    found = recommender.recommend([HISTORY], 40, 40)[0]
    again = recommender.score(HISTORY, [item.item_id for item in found])
    assert again == pytest.approx([item.score for item in found], abs=1e-5)


def test_score_refuses_what_it_cannot_score(world: World, recommender: Recommender) -> None:
    with pytest.raises(InputError, match="not in the catalogue: item 4711"):
        recommender.score(HISTORY, [1, 4711])
    with pytest.raises(InputError, match="constrained"):
        world.recommender(constrained=False).score(HISTORY, [1])


def test_score_of_every_normalisation(world: World) -> None:
    for normalize in MODES:
        brute = Brute(world, world.prompt(HISTORY), normalize)
        scores = world.recommender(normalize=normalize).score(HISTORY, list(range(40)))
        want = [brute.score[world.codes(item)] for item in range(40)]
        assert scores == pytest.approx(want, abs=1e-4)
