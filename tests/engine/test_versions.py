"""Catalogues change between batches, never within one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.engine.world import World, beams, make_world, write_index
from xgr import Recommender
from xgr.catalog import Catalogue, read_catalogue
from xgr.engine import Recommendations, Request
from xgr.engine.decode import Decode
from xgr.errors import InputError

HISTORY = [5, 8, 1]


def ids(found: Recommendations) -> list[Any]:
    return sorted(item.item_id for item in found)


@pytest.fixture
def smaller(world: World, tmp_path: Path) -> Path:
    """The items 0 to 9 alone; their file numbers the codes otherwise, as it uses fewer."""
    return write_index(tmp_path / "small.index.json", {i: world.items[i] for i in range(10)})


def test_a_swap_holds_for_later_calls(world: World, smaller: Path) -> None:
    recommender = world.recommender()
    before = recommender.recommend([HISTORY], 40, 40)[0]
    recommender.store.current.register_filter("odd", allow=[1, 3])
    recommender.store.swap(smaller)
    after = recommender.recommend([HISTORY], 40, 40)[0]
    assert ids(after) == list(range(10))
    assert after.catalogue_version == recommender.store.current.version
    assert after.catalogue_version != before.catalogue_version
    old = dict(beams(before))
    assert all(score == pytest.approx(old[sid], abs=1e-5) for sid, score in beams(after))
    with pytest.raises(InputError, match="'odd'"):
        recommender.recommend([HISTORY], filters=["odd"])
    recommender.store.swap(world.index)
    assert beams(recommender.recommend([HISTORY], 40, 40)[0]) == beams(before)


def test_filters_follow_the_catalogue(world: World, smaller: Path) -> None:
    recommender = world.recommender()
    for source, left in ((smaller, 10), (world.index, 40), (smaller, 10)):
        recommender.store.swap(source)
        found = recommender.recommend([HISTORY], 40, 40, exclude=[0, 9])[0]
        assert ids(found) == sorted(set(range(left)) - {0, 9})
        recommender.store.current.register_filter("low", allow=range(7))
        found = recommender.recommend([HISTORY], 40, 40, filters=["low"])[0]
        assert ids(found) == list(range(7))


def test_a_batch_keeps_the_catalogue_it_was_launched_with(world: World, smaller: Path) -> None:
    recommender = world.recommender()
    engine, store = recommender.engine, recommender.store
    want = beams(recommender.recommend([HISTORY], 40, 40)[0])
    pin = store.pin()
    request = Request(world.prompt(HISTORY), 40, 40)
    batch = engine.launch([engine.prepare(request, pin.catalogue)], pin.catalogue)
    store.swap(smaller)
    found = engine.collect(batch)[0]
    pin.release()
    assert isinstance(found, Recommendations)
    assert beams(found) == want
    assert len(found) == 40


@pytest.mark.parametrize("level", [1, 2])
def test_a_swap_between_the_levels_of_a_batch(
    world: World, smaller: Path, monkeypatch: pytest.MonkeyPatch, level: int
) -> None:
    """One version from the first level to the items, whatever happens in between."""
    recommender = world.recommender()
    want = recommender.recommend([HISTORY, [3]], 40, 40, exclude_history=True)
    advance = Decode._advance
    swapped: list[Catalogue] = []

    def swapping(decode: Decode, at: int) -> Any:
        if at == level and not swapped:
            swapped.append(recommender.store.swap(smaller))
        return advance(decode, at)

    monkeypatch.setattr(Decode, "_advance", swapping)
    found = recommender.recommend([HISTORY, [3]], 40, 40, exclude_history=True)
    assert swapped
    for got, one in zip(found, want, strict=True):
        assert beams(got) == beams(one)
        assert ids(got) == ids(one)
        assert got.catalogue_version == one.catalogue_version != swapped[0].version
    later = recommender.recommend([HISTORY], 40, 40)[0]
    assert later.catalogue_version == swapped[0].version
    assert ids(later) == list(range(10))


def test_a_catalogue_with_other_codes_is_refused_and_the_old_one_stays(
    world: World, tmp_path: Path
) -> None:
    """As many codes a level as the model has tokens, but others: sizes alone would pass."""
    recommender = world.recommender()
    want = ids(recommender.recommend([HISTORY], 40, 40)[0])
    shifted = {n: (f"<a_{n % 6 + 1}>", f"<b_{n % 5 + 1}>", f"<c_{n % 7 + 1}>") for n in range(210)}
    assert read_catalogue(write_index(tmp_path / "shifted.index.json", shifted)).level_sizes == (
        recommender.store.current.level_sizes
    )
    flat = Catalogue.from_sids([[0, 0], [1, 1]])
    for source in (tmp_path / "shifted.index.json", flat):
        with pytest.raises(InputError):
            recommender.store.swap(source)
        assert ids(recommender.recommend([HISTORY], 40, 40)[0]) == want


def test_an_engine_refuses_a_catalogue_of_other_sizes(world: World) -> None:
    engine = world.recommender().engine
    other = Catalogue.from_sids([[0, 0, 0]], level_sizes=[1, 1, 1])
    with pytest.raises(InputError, match=r"\(1, 1, 1\).*\(6, 5, 7\)"):
        engine.run([Request([1], 4)], other)


def test_two_recommenders_do_not_meet(world: World, tmp_path: Path) -> None:
    other = make_world(tmp_path, seed=5)
    a, b = world.recommender(), other.recommender()
    first: list[Any] = [beams(r.recommend([HISTORY], 40, 40)[0]) for r in (a, b)]
    assert first[0] != first[1]
    assert [beams(r.recommend([HISTORY], 40, 40)[0]) for r in (a, b)] == first


def test_a_catalogue_in_memory_serves_as_its_file(world: World) -> None:
    want = beams(world.recommender().recommend([HISTORY], 40, 40)[0])
    known = read_catalogue(world.index)
    found = Recommender.from_pretrained(world.folder, known, lanes=1).recommend([HISTORY], 40, 40)
    assert beams(found[0]) == want
