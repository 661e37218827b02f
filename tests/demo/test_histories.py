"""The held-out users: consistent with the catalogue, and honestly apart from the training users."""

from __future__ import annotations

import random
from collections import Counter

from tests.demo.shop import drawn_shop, example, histories, items, popularity


def test_histories_name_items_of_the_catalogue_and_fit_the_prompt() -> None:
    known = {item["item_id"] for item in items()}
    assert 300 <= len(histories()) <= 500
    for history in histories().values():
        assert 8 <= len(history) <= 50
        assert set(history) <= known


def test_no_user_takes_a_semantic_id_twice() -> None:
    """So the target is never among the items of its own prompt, not even as a variant."""
    sids = {item["item_id"]: tuple(item["sid"]) for item in items()}
    for history in histories().values():
        assert len({sids[item_id] for item_id in history}) == len(history)


def test_no_training_user_has_the_history_of_a_held_out_user() -> None:
    training = {tuple(history) for history in drawn_shop().training}
    assert training.isdisjoint(tuple(history) for history in histories().values())


def test_no_training_user_begins_as_a_held_out_user_goes_on_to_the_target() -> None:
    """A longer training history must not hold a whole held-out one, target and all."""
    held_out = {tuple(history) for history in histories().values()}
    lengths = {len(history) for history in held_out}
    for history in drawn_shop().training:
        for length in lengths:
            assert history[:length] not in held_out or length > len(history)


def test_a_history_on_the_list_is_not_drawn_again() -> None:
    users = example("demo_users")
    shop = drawn_shop()
    behaviour = users.Behaviour(users.Catalogue(shop.items), random.Random(1))
    first = users.draw_histories(behaviour, random.Random(2), 5)
    second = users.draw_histories(behaviour, random.Random(2), 5, unlike=frozenset(first[:2]))
    assert second[:3] == first[2:]


def test_popularity_counts_the_training_users_only() -> None:
    counts = Counter(item_id for history in drawn_shop().training for item_id in history)
    assert list(popularity()) == [item["item_id"] for item in items()]
    assert popularity() == {item["item_id"]: counts[item["item_id"]] for item in items()}
    assert min(popularity().values()) > 0  # every item has been seen in training
