"""Games as the oracle reads it, and the metrics, against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest

from tests.data import shared
from tests.oracle.beam import beam_search, load
from tests.oracle.games import Games, metrics, parse_slice, rank_of, read_games
from tests.oracle.kv import FixedBeams
from tests.oracle.trie import Trie


@pytest.fixture(scope="module")
def games() -> Games:
    data = shared("data/genrec_mimi/Games")
    model = shared("models/games-qwen3-6m")
    return read_games(model, data / "Games.index.json", data / "Games.inter.json")


def test_counts_and_order(games: Games) -> None:
    assert (len(games.sids), len(games.items), len(games.users)) == (16859, 16717, 50546)
    assert games.users[0] == ("0", [0, 1, 2, 3, 4, 5])
    groups = list(games.items.values())
    assert sum(map(len, groups)) == 16859
    position = {item: place for place, item in enumerate(games.sids)}
    assert all(group == sorted(group, key=position.__getitem__) for group in groups)


def test_prompt_leaves_the_target_out_and_keeps_the_last_items(games: Games) -> None:
    history = next(history for _, history in games.users if len(history) > 60)
    prompt = games.prompt(history)
    assert prompt[0] == games.bos == 1
    assert len(prompt) == 1 + 4 * 50
    assert prompt[-4:] == list(games.sids[history[-2]])
    assert prompt[1:5] == list(games.sids[history[-51]])
    assert games.prompt(games.users[0][1])[1:] == [t for i in range(5) for t in games.sids[i]]


def test_metrics_count_the_item_among_the_first_k_items() -> None:
    shown = [[7, 8], [3], [5, 6]]
    assert rank_of(3, shown, 3) == 2
    assert rank_of(5, shown, 3) is None
    assert rank_of(5, shown, 4) == 3
    got = metrics([0, 2, None, None], 10)
    assert got == {"recall@10": 0.5, "ndcg@10": (1 + 1 / math.log2(4)) / 4}


def test_slices() -> None:
    assert list(range(9))[parse_slice("2:5")] == [2, 3, 4]
    assert list(range(9))[parse_slice(":3")] == [0, 1, 2]


def test_search_on_the_real_checkpoint(games: Games) -> None:
    model = load(shared("models/games-qwen3-6m"))
    trie, fixed = Trie(games.items), FixedBeams()
    for _, history in games.users[:2]:
        found = beam_search(model, games.prompt(history), trie, 50, beam_cache=fixed)
        plain = beam_search(model, games.prompt(history), trie, 50)
        assert [sid for sid, _ in found.results] == [sid for sid, _ in plain.results]
        assert len(found.results) == 50
        assert all(group for group in games.expand([sid for sid, _ in found.results]))
