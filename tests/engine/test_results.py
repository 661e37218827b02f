"""Results stand by themselves: plain values, without the batch and the catalogue they came of."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from pathlib import Path

import pytest

from tests.engine.world import World, make_world, write_index
from xgr.engine import Recommendations


def everything(found: Recommendations) -> object:
    counts = found.n_valid, found.invalid, found.normalize, found.catalogue_version
    return list(found), found.beams(), counts


@pytest.mark.parametrize("constrained", [True, False])
def test_results_can_be_pickled_and_copied(world: World, constrained: bool) -> None:
    recommender = world.recommender(constrained=constrained)
    found = recommender.recommend([[3, 5], [8]], 9, 9)
    for one, again in zip(found, pickle.loads(pickle.dumps(found)), strict=True):
        assert everything(again) == everything(one)
        assert everything(copy.deepcopy(one)) == everything(one)


def test_a_pickled_result_is_small(world: World) -> None:
    """Of a batch of 8 wide users only the one user's 5 beams are kept."""
    found = world.recommender().recommend([[3]] + [[at] for at in range(7)], 5, 5)[0]
    assert len(pickle.dumps(found)) < 4000


def test_results_do_not_keep_a_replaced_catalogue(world: World, tmp_path: Path) -> None:
    recommender = world.recommender()
    found = recommender.recommend([[3]], 9, 9, exclude_history=True)[0]
    want = everything(found)
    old = weakref.ref(recommender.store.current)
    recommender.store.swap(
        write_index(tmp_path / "s.index.json", {i: world.items[i] for i in range(10)})
    )
    gc.collect()
    assert old() is None
    assert everything(found) == want


def test_invalid_is_judged_by_the_catalogue_that_answered(world: World, tmp_path: Path) -> None:
    recommender = world.recommender(constrained=False)
    found = recommender.recommend([[3, 5]], 9, 60)[0]
    spelt = {world.tokens(sid) for sid in world.sids}
    outside = [beam for beam in found.beams() if beam.token_ids not in spelt]
    assert found.invalid == len(outside) > 0
    assert all(beam.codes is None and beam.item_ids == () for beam in outside)
    one = write_index(tmp_path / "one.index.json", {0: world.items[0]})
    recommender.store.swap(one)
    fewer = recommender.recommend([[0]], 9, 60)[0]
    assert fewer.n_valid - fewer.invalid <= 1
    assert found.invalid == len(outside)


def test_a_sid_of_very_many_items(tmp_path: Path) -> None:
    crowd = {item: (0, 0, 0) for item in range(3000)} | {4000: (1, 1, 1)}
    world = make_world(tmp_path, catalogue=crowd)
    found = world.recommender().recommend([[4000]], 5000, 9, exclude=[0])[0]
    assert sorted(item.item_id for item in found) == [*range(1, 3000), 4000]
    named = {len(beam.item_ids): beam.item_ids for beam in found.beams()}
    assert sorted(named) == [1, 1024]
    assert named[1024] == tuple(range(1, 1025))
