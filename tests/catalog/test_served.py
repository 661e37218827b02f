"""Filters of a catalogue as a recommender serves them: from its start, and through a swap."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.world import World, make_world, write_index
from xgr import Recommender
from xgr.catalog import Catalogue, read_catalogue
from xgr.engine import Recommendations

HISTORY = [5, 8, 1]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("world"))


def items(recommender: Recommender, name: str) -> list[int | str]:
    found = recommender.recommend([HISTORY], 40, 40, filters=[name])[0]
    assert isinstance(found, Recommendations)
    return sorted((item.item_id for item in found), key=int)


def test_filters_hold_from_the_start_and_through_swaps(world: World, tmp_path: Path) -> None:
    catalogue = read_catalogue(world.index)
    catalogue.register_filter("low", allow=range(7))
    recommender = Recommender.from_pretrained(world.folder, catalogue, lanes=1)
    assert items(recommender, "low") == list(range(7))

    smaller = write_index(tmp_path / "s.index.json", {i: world.items[i] for i in range(10)})
    labels = recommender.store.current.labels
    for ready in (False, True):
        fresh: Catalogue = read_catalogue(smaller)
        fresh = fresh.rebase(labels) if ready else fresh
        fresh.register_filter("odd", allow=[1, 3, 9])
        recommender.store.swap(fresh)
        assert items(recommender, "odd") == [1, 3, 9]
