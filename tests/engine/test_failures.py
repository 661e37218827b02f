"""A request that fails on the device fails alone, and leaves nothing behind."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

from tests.engine.world import World, beams, make_world
from xgr.engine import Recommendations, Request
from xgr.engine.evaluate import evaluate
from xgr.errors import InputError, RequestFailed


def poison(world: World, name: str, row: int | slice, value: float) -> None:
    path = world.folder / "model.safetensors"
    tensors = load_file(path)
    tensors[name][row] = value
    save_file(tensors, path, metadata={"format": "pt"})


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Prompts that hold <c_6>, and only these, give NaN: no beam embeds a last code."""
    world = make_world(tmp_path_factory.mktemp("nan"), tied=False)
    poison(world, "model.embed_tokens.weight", world.vocab["<c_6>"], float("nan"))
    return world


@pytest.fixture(scope="module")
def bad(broken: World) -> list[int]:
    """A long history with one item of that code."""
    one = next(item for item in broken.items if broken.codes(item)[2] == 6)
    return [*good(broken, 20), one, *good(broken, 5)]


def good(broken: World, length: int) -> list[int]:
    fine = [item for item in broken.items if broken.codes(item)[2] != 6]
    return (fine * length)[:length]


@pytest.mark.parametrize("kv_mode", ["ancestors", "reorder"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_batch_mates_are_served(broken: World, bad: list[int], kv_mode: str, place: int) -> None:
    recommender = broken.recommender(kv_mode=kv_mode)
    histories = [good(broken, 3), good(broken, 9)]
    want = recommender.recommend(histories, 40, 9)
    histories.insert(place, bad)
    requests = [Request(broken.prompt(history), 9, 40) for history in histories]
    outcomes = recommender.engine.run(requests, recommender.store.current)
    failed = outcomes.pop(place)
    assert isinstance(failed, RequestFailed)
    assert "NaN" in str(failed)
    for got, one in zip(outcomes, want, strict=True):
        assert isinstance(got, Recommendations)
        assert [sid for sid, _ in beams(got)] == [sid for sid, _ in beams(one)]
        assert [s for _, s in beams(got)] == pytest.approx([s for _, s in beams(one)], abs=1e-5)


def test_recommend_names_the_users(broken: World, bad: list[int]) -> None:
    recommender = broken.recommender(max_requests=2)
    with pytest.raises(RequestFailed, match=r"user 1: .*NaN.*; user 3: .*NaN"):
        recommender.recommend([good(broken, 2), bad, good(broken, 2), bad], 5, 5)
    with pytest.raises(RequestFailed, match="NaN"):
        recommender.score(bad, [0])


def test_errors_are_returned_in_the_place_of_their_users(broken: World, bad: list[int]) -> None:
    recommender = broken.recommender(max_requests=2, lanes=2)
    users = [good(broken, 2), bad, [4711], good(broken, 9), [], bad]
    want = recommender.recommend([users[0], users[3]], 5, 5)
    told: list[int] = []
    found = recommender.recommend(users, 5, 5, errors="return", progress=told.append)
    kinds = [type(one) for one in found]
    assert kinds == [
        *(Recommendations, RequestFailed, InputError),
        *(Recommendations, InputError, RequestFailed),
    ]
    assert "4711" in str(found[2])
    assert sum(told) == 4
    for got, one in zip((found[0], found[3]), want, strict=True):
        assert isinstance(got, Recommendations)
        assert [sid for sid, _ in beams(got)] == [sid for sid, _ in beams(one)]
    assert recommender.recommend([[4711]], errors="return")[0].__class__ is InputError
    with pytest.raises(InputError, match="k is 0"):
        recommender.recommend(users, 0, errors="return")
    with pytest.raises(InputError, match="errors is 'ignore', allowed: raise, return"):
        recommender.recommend(users, errors="ignore")  # type: ignore[call-overload]  # refused


def test_refusals_are_raised_before_anything_is_launched(broken: World, bad: list[int]) -> None:
    recommender = broken.recommender()
    with pytest.raises(InputError, match=r"user 1: .*4711.*; user 3: history is empty"):
        recommender.recommend([bad, [4711], bad, []])
    with pytest.raises(InputError, match=r"user 4: .*; and 3 more users$"):
        recommender.recommend([[]] * 8)
    assert recommender.engine.launched == 0


def test_evaluate_counts_who_failed_and_goes_on(broken: World, bad: list[int]) -> None:
    recommender = broken.recommender()
    users = {
        "fine": good(broken, 5),
        "nan": [*bad, 1],
        "gone": [4711, 2, 3],
        "too": good(broken, 4),
    }
    told: list[int] = []
    result = evaluate(recommender, users, k=5, beam_width=9, progress=told.append, keep_rows=True)
    assert (result.users, result.failed, sum(told)) == (2, 2, 4)
    assert list(result.failures) == ["nan", "gone"]
    assert "NaN" in result.failures["nan"]
    assert "4711" in result.failures["gone"]
    assert [row["user"] for row in result.rows] == ["fine", "too"]
    alone = evaluate(recommender, {u: users[u] for u in ("fine", "too")}, k=5, beam_width=9)
    assert result.metrics()["recall@5"] == alone.metrics()["recall@5"]
    skipping = evaluate(recommender, users, k=5, beam_width=9, unknown="skip")
    assert (skipping.users, skipping.failed) == (3, 1)


def test_nothing_of_it_stays_in_the_cache(broken: World, bad: list[int]) -> None:
    """NaN keys and values lie in the arena and in the beams' slots when the next user comes."""
    recommender, fresh = broken.recommender(), broken.recommender()
    want = beams(fresh.recommend([good(broken, 4)], 40, 33)[0])
    for _ in range(2):
        with pytest.raises(RequestFailed):
            recommender.recommend([bad], 40, 33)
        assert beams(recommender.recommend([good(broken, 4)], 40, 33)[0]) == want


def test_a_nan_model_fails_every_request(tmp_path: Path) -> None:
    world = make_world(tmp_path)
    poison(world, "model.norm.weight", 0, float("nan"))
    with pytest.raises(RequestFailed, match=r"user 0: .*; user 1: "):
        world.recommender().recommend([[3], [4]], 5, 5)


def test_nan_of_a_code_that_no_item_has_only_matters_where_it_is_normalised_over(
    tmp_path: Path,
) -> None:
    sids = {n: (n % 5, n % 4, n % 6) for n in range(60)}  # never <c_6>
    world = make_world(tmp_path, catalogue=sids, tied=False)
    poison(world, "lm_head.weight", world.vocab["<c_6>"], float("nan"))
    for normalize in ("children", "none"):
        assert len(world.recommender(normalize=normalize).recommend([[3]], 5, 9)[0]) == 5
    for normalize in ("vocab", "level"):
        with pytest.raises(RequestFailed, match="NaN"):
            world.recommender(normalize=normalize).recommend([[3]], 5, 9)


@pytest.mark.parametrize("width", [1, 5, 7, 33, 64])
def test_equal_logits_everywhere_rank_by_path(tmp_path: Path, width: int) -> None:
    world = make_world(tmp_path)
    poison(world, "model.norm.weight", slice(None), 0.0)
    found = world.recommender().recommend([[3], [4, 5]], 40, width)
    for one in found:
        assert [codes for codes, _ in beams(one)] == sorted(world.sids)[:width]
        want = [-3 * math.log(64)] * len(one.beams())
        assert [score for _, score in beams(one)] == pytest.approx(want, abs=1e-5)
