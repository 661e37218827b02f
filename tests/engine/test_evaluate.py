"""Leave-one-out evaluation against metrics worked out from brute force."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from tests.engine.world import Brute, World
from tests.oracle.games import metrics, rank_of
from xgr import Recommender
from xgr.engine.evaluate import evaluate, read_histories
from xgr.errors import InputError

DRAW = random.Random(3)
HISTORIES: dict[str, list[int]] = {
    f"u{n}": [DRAW.randrange(40) for _ in range(2 + n % 7)] for n in range(12)
} | {"alone": [3], "none": []}


def test_metrics_are_those_of_brute_force(world: World, recommender: Recommender) -> None:
    told: list[int] = []
    result = evaluate(
        recommender, HISTORIES, k=6, beam_width=9, keep_rows=True, progress=told.append
    )
    ranks = []
    for row, (user, items) in zip(result.rows, HISTORIES.items(), strict=False):
        brute = Brute(world, world.prompt(items[:-1]))
        want = brute.search(9)
        assert brute.gap > 1e-5
        assert row["user"] == user
        assert row["token_ids"] == [list(world.tokens(sid)) for sid, _ in want]
        assert row["scores"] == pytest.approx([score for _, score in want], abs=1e-4)
        assert row["item_ids"] == [world.sids[sid] for sid, _ in want]
        ranks.append(rank_of(items[-1], row["item_ids"], 6))
    assert any(rank is not None and rank > 0 for rank in ranks)
    got = result.metrics()
    assert {name: got[name] for name in ("recall@6", "ndcg@6")} == pytest.approx(metrics(ranks, 6))
    assert (got["users"], got["skipped"], got["invalid_rate"]) == (12, 2, 0)
    assert sum(told) == 12
    assert result.beams == 12 * 9


def test_text_and_integer_ids_are_the_same_items(recommender: Recommender) -> None:
    texts = {user: [str(item) for item in items] for user, items in HISTORIES.items()}
    one = evaluate(recommender, HISTORIES, k=6, beam_width=9).metrics()
    other = evaluate(recommender, texts, k=6, beam_width=9).metrics()
    assert all(one[name] == other[name] for name in one if name != "users_per_s")


def test_history_can_be_excluded(recommender: Recommender) -> None:
    again = {"again": [3, 5, 3]}
    found = evaluate(recommender, again, k=40, beam_width=40)
    assert found.metrics()["recall@40"] == 1
    without = evaluate(recommender, again, k=40, beam_width=40, exclude_history=True)
    assert without.metrics()["recall@40"] == 0


def test_nobody_to_evaluate(recommender: Recommender) -> None:
    for histories, count in (({"one": [3]}, 1), ({}, 0)):
        with pytest.raises(InputError, match=f"none of the {count} users has two items"):
            evaluate(recommender, histories)


def test_only_line_feeds_end_json_lines(tmp_path: Path) -> None:
    names = ["a\u2028b", "c\x85d", "e\x0bf"]
    path = tmp_path / "h.ndjson"
    path.write_text("\n".join(json.dumps({n: [1]}, ensure_ascii=False) for n in names[:2]) + "\r\n")
    assert list(read_histories(path)) == names[:2]


def test_histories_of_json_and_json_lines(tmp_path: Path) -> None:
    whole, lines = tmp_path / "h.json", tmp_path / "h.jsonl"
    whole.write_text(json.dumps(HISTORIES))
    lines.write_text("\n\n".join(json.dumps({u: items}) for u, items in HISTORIES.items()))
    assert read_histories(whole) == read_histories(lines) == HISTORIES
    assert list(read_histories(lines)) == list(HISTORIES)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", "[[1, 2]]", 'need {"user"'),
        ("a.json", '{"u": 3}', "user 'u' has 3, need a list"),
        ("a.json", '{"u": [1.5]}', r"user 'u' has \[1.5\]"),
        ("a.json", '{"u": [true]}', r"user 'u' has \[True\]"),
        ("a.json", '{"u": [1', "cannot be read"),
        ("a.json", '{"u": [1], "u": [2]}', "user 'u' is there twice"),
        ("a.jsonl", '{"u": [1]}\n{"u": [2]}', "user 'u' is there twice"),
        ("a.ndjson", '{"u": [1]}\n{"u": [2]}', "user 'u' is there twice"),
        ("a.json", '{"u": [' + "1" * 5000 + "]}", "cannot be read"),
        ("a.json", "[" * 100_000, "cannot be read"),
        ("missing/a.json", None, "cannot be read"),
    ],
)
def test_broken_histories(tmp_path: Path, name: str, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        read_histories(tmp_path / name)
