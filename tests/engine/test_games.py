"""The real Games checkpoint: the oracle's scores and SIDs, and both K/V modes bit for bit."""

from __future__ import annotations

import pytest

from tests.data import shared
from tests.engine.world import token_beams
from tests.oracle.beam import Found, beam_search, load
from tests.oracle.compare import compare_users
from tests.oracle.games import Games, read_games
from tests.oracle.kv import FixedBeams
from tests.oracle.trie import Trie
from xgr import Recommender
from xgr.engine import Recommendations

WIDTH = 50
# every thousandth user of the file: short and long histories
STRIDE = 1000


@pytest.fixture(scope="module")
def games() -> Games:
    data = shared("data/genrec_mimi/Games")
    model = shared("models/games-qwen3-6m")
    return read_games(model, data / "Games.index.json", data / "Games.inter.json")


@pytest.fixture(scope="module")
def users(games: Games) -> dict[str, list[int]]:
    chosen = dict(games.users[500::STRIDE])
    assert len(chosen) >= 50
    return dict(list(chosen.items())[:50])


def load_games(**options: object) -> Recommender:
    return Recommender.from_pretrained(
        shared("models/games-qwen3-6m"),
        shared("data/genrec_mimi/Games/Games.index.json"),
        max_items=50,
        **options,  # type: ignore[arg-type]  # a test's own options
    )


def recommend(
    recommender: Recommender, users: dict[str, list[int]], width: int = WIDTH
) -> dict[str, Recommendations]:
    found = recommender.recommend([items[:-1] for items in users.values()], 10, width)
    return dict(zip(users, found, strict=True))


@pytest.fixture(scope="module")
def ours(users: dict[str, list[int]]) -> dict[str, Recommendations]:
    return recommend(load_games(), users)


def test_equal_to_the_oracle(
    games: Games, users: dict[str, list[int]], ours: dict[str, Recommendations]
) -> None:
    model, trie, fixed = load(shared("models/games-qwen3-6m")), Trie(games.items), FixedBeams()
    oracle: dict[str, Found] = {
        user: beam_search(model, games.prompt(items), trie, WIDTH, beam_cache=fixed)
        for user, items in users.items()
    }
    compare_users({user: token_beams(found) for user, found in ours.items()}, oracle).check()


def test_items_are_those_of_the_sids_in_file_order(
    games: Games, ours: dict[str, Recommendations]
) -> None:
    for found in ours.values():
        groups = [list(beam.item_ids) for beam in found.beams()]
        assert groups == games.expand([beam.token_ids for beam in found.beams()])
        assert [item.item_id for item in found] == [i for group in groups for i in group][:10]
        assert found.invalid == 0
        assert found.n_valid == WIDTH


def test_reorder_equals_ancestors_bit_for_bit(
    users: dict[str, list[int]], ours: dict[str, Recommendations]
) -> None:
    # one lane: batches are shared out alike, and nothing divides the threads
    some = dict(list(users.items())[:8])
    by_mode = [recommend(load_games(lanes=1, kv_mode=m), some) for m in ("ancestors", "reorder")]
    base, again = by_mode
    for user in some:
        assert token_beams(again[user]) == token_beams(base[user])
        theirs = dict(token_beams(ours[user]))
        assert all(theirs[sid] == pytest.approx(s, abs=1e-4) for sid, s in token_beams(base[user]))
