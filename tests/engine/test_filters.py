"""Filters: what may come out, what must, and that nothing else is touched."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.engine.world import Brute, World, assert_same, beams, make_world
from xgr import Recommender
from xgr.engine import Recommendations, Request
from xgr.errors import InputError

HISTORY = [5, 8, 1, 30, 22]
NAMED = {"even": range(0, 40, 2), "small": range(15), "none": range(0)}


def ids(found: Iterable[Any]) -> list[Any]:
    return [item.item_id for item in found]


@pytest.fixture(scope="module")
def filtered(world: World) -> Recommender:
    recommender = world.recommender()
    for name, allow in NAMED.items():
        recommender.store.current.register_filter(name, allow=allow)
    return recommender


@pytest.fixture(scope="module")
def brute(world: World) -> Brute:
    return Brute(world, world.prompt(HISTORY))


def test_exclude_and_allow(filtered: Recommender) -> None:
    everything = ids(filtered.recommend([HISTORY], 40, 40)[0])
    gone = everything[:5]
    assert ids(filtered.recommend([HISTORY], 40, 40, exclude=gone)[0]) == everything[5:]
    assert ids(filtered.recommend([HISTORY], 40, 40, exclude=gone * 3)[0]) == everything[5:]
    assert ids(filtered.recommend([HISTORY], 40, 40, allow=everything[7:9])[0]) == everything[7:9]
    both = filtered.recommend([HISTORY], 40, 40, allow=gone, exclude=gone[1:])[0]
    assert ids(both) == gone[:1]


def test_registered_filters_and_their_conjunction(filtered: Recommender) -> None:
    everything = ids(filtered.recommend([HISTORY], 40, 40)[0])
    for names in (["even"], ["small"], ["even", "small"]):
        want = [item for item in everything if all(item in NAMED[name] for name in names)]
        assert ids(filtered.recommend([HISTORY], 40, 40, filters=names)[0]) == want
        mixed = filtered.recommend([HISTORY], 40, 40, filters=names, exclude=want[:2])[0]
        assert ids(mixed) == want[2:]
    with pytest.raises(InputError, match=r"'odd'.*registered filters: even, none, small"):
        filtered.recommend([HISTORY], filters=["odd"])


def test_a_filter_registered_again_holds_for_later_requests(world: World) -> None:
    recommender = world.recommender()
    for allow in ([3, 4], [5], [6, 7]):
        recommender.store.current.register_filter("stock", allow=allow)
        found = ids(recommender.recommend([HISTORY], 40, 40, filters=["stock"])[0])
        assert sorted(found) == allow


def test_more_filters_in_turn_than_the_device_holds(world: World) -> None:
    recommender = world.recommender(filter_masks=2)
    lists = {f"f{n}": [n, n + 7, n + 20] for n in range(5)}
    for name, allow in lists.items():
        recommender.store.current.register_filter(name, allow=allow)
    for name in ["f0", "f1", "f2", "f1", "f3", "f4", "f0", "f2", "f2", "f1"]:
        found = recommender.recommend([HISTORY], 40, 40, filters=[name])[0]
        assert sorted(ids(found)) == lists[name]


def test_history_is_excluded_in_one_word(filtered: Recommender) -> None:
    users = [HISTORY, [0, 7]]
    found = filtered.recommend(users, 40, 40, exclude_history=True, exclude=[12])
    assert sorted(ids(found[0])) == sorted(set(range(40)) - {*HISTORY, 12})
    assert sorted(ids(found[1])) == sorted(set(range(40)) - {0, 7, 12})  # 39 shares the SID of 0
    label = filtered.speller.tokenizer.tokens(found[1].beams()[0].token_ids)
    by_sid = filtered.recommend([["".join(label), 7]], 40, 40, exclude_history=True)[0]
    assert not set(found[1].beams()[0].item_ids) & set(ids(by_sid))


def test_each_user_has_lists_of_its_own(filtered: Recommender) -> None:
    found = filtered.recommend([HISTORY] * 3, 40, 40, exclude=[[0, 1], [], [2]])
    assert [sorted(set(range(40)) - set(ids(one))) for one in found] == [[0, 1], [], [2]]
    found = filtered.recommend([HISTORY] * 2, 40, 40, allow=[[3], [4, 5]])
    assert [sorted(ids(one)) for one in found] == [[3], [4, 5]]


def test_filters_that_leave_nothing(filtered: Recommender) -> None:
    every: list[dict[str, Any]] = [{"exclude": range(40)}, {"allow": []}, {"filters": ["none"]}]
    for options in every:
        found = filtered.recommend([HISTORY], 10, 8, **options)[0]
        assert (len(found), found.n_valid, found.invalid) == (0, 0, 0)
        assert found.beams() == []
    empty, one = filtered.recommend([HISTORY] * 2, 40, 40, allow=[[], [7]])
    assert (ids(empty), ids(one)) == ([], [7])


def test_a_sid_lives_while_one_of_its_items_does(world: World) -> None:
    recommender = world.recommender()
    shared = world.codes(0)
    assert world.sids[shared] == [0, 39]
    for gone, left in ([0], [39]), ([39], [0]), ([0, 39], None):
        found = recommender.recommend([HISTORY], 40, 40, exclude=gone)[0]
        groups = {beam.codes: list(beam.item_ids) for beam in found.beams()}
        assert groups.get(shared) == left


def test_beams_never_end_in_a_dead_prefix(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Many prefixes, one living item under each of two: a width of 2 must still find both."""
    sids = {n: (n // 4, n % 4, 0) for n in range(24)}
    world = make_world(tmp_path_factory.mktemp("dead"), catalogue=sids)
    recommender = world.recommender()
    recommender.store.current.register_filter("two", allow=[1, 22])
    every: list[dict[str, Any]] = [{"allow": [1, 22]}, {"filters": ["two"]}]
    every.append({"exclude": {*range(24)} - {1, 22}})
    for options in every:
        for width in (1, 2, 3):
            found = recommender.recommend([[3]], 10, width, **options)[0]
            assert len(found) == min(width, 2)
            assert set(ids(found)) <= {1, 22}


def test_lists_and_masks_beyond_the_capacity_are_refused_by_name(world: World) -> None:
    recommender = world.recommender(filter_capacity=4, filter_masks=1)
    with pytest.raises(InputError, match="filter_capacity=4"):
        recommender.recommend([HISTORY], allow=range(20))
    assert len(recommender.recommend([HISTORY], 8, 8)[0]) == 8  # still serves


def test_filters_of_batch_mates_do_not_add_up_to_a_refusal(world: World) -> None:
    """Each request fits alone, so together they are split over batches."""
    recommender = world.recommender(filter_capacity=16, filter_masks=1)
    for name in ("a", "b", "c"):
        recommender.store.current.register_filter(name, exclude=[ord(name) - 97])
    many = recommender.recommend([HISTORY] * 3, 40, 40, allow=[range(15), range(5, 20), [1, 2]])
    assert [sorted(ids(one)) for one in many] == [[*range(15)], [*range(5, 20)], [1, 2]]
    engine, catalogue = recommender.engine, recommender.store.current
    requests = [Request([1], 40, 40, filters=[name]) for name in ("a", "b", "c", "a")]
    outcomes = engine.run(requests, catalogue)
    served = [one for one in outcomes if isinstance(one, Recommendations)]
    assert [set(range(40)) - set(ids(one)) for one in served] == [{0}, {1}, {2}, {0}]


def test_unknown_items_in_lists(filtered: Recommender) -> None:
    for name in ("exclude", "allow"):
        own: dict[str, Any] = {name: [[1], [2, 4711]]}
        with pytest.raises(InputError, match=r"user 1: .*4711"):
            filtered.recommend([HISTORY] * 2, **own)
        own = {name: [2, 4711], "unknown": "skip"}
        found = filtered.recommend([HISTORY], 40, 40, **own)[0]
        assert (2 in ids(found)) == (name == "allow")


items = st.sets(st.integers(0, 39))


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    exclude=items,
    allow=st.none() | items,
    named=st.sets(st.sampled_from(sorted(NAMED))),
    widths=st.integers(1, 45) | st.lists(st.integers(1, 45), min_size=3, max_size=3),
    k=st.integers(1, 50),
    per_sid=st.none() | st.integers(1, 2),
)
def test_every_request_equals_brute_force(
    world: World,
    filtered: Recommender,
    brute: Brute,
    exclude: set[int],
    allow: set[int] | None,
    named: set[str],
    widths: int | list[int],
    k: int,
    per_sid: int | None,
) -> None:
    def alive(item: int) -> bool:
        listed = item not in exclude and (allow is None or item in allow)
        return listed and all(item in NAMED[name] for name in named)

    shuffled = random.Random(0).sample(sorted(exclude), len(exclude))
    found = filtered.recommend(
        [HISTORY], k, widths, exclude=shuffled, allow=allow, filters=sorted(named), per_sid=per_sid
    )[0]
    want = brute.search(widths, alive)
    assert brute.gap > 1e-5
    assert_same(beams(found), want)
    assert ids(found) == brute.items(want, k, alive=alive, per_sid=per_sid)
    assert found.n_valid == len(want)
