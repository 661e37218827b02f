"""The shipped catalogue, its tokens, and that the seed still gives them byte for byte."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import pytest

from tests.demo.shop import DEMO, drawn_shop, example, items, vocabulary

DRAWN = (
    "items.jsonl",
    "histories.json",
    "popularity.json",
    "model/tokenizer.json",
    "model/tokenizer_config.json",
)


@pytest.fixture(scope="module")
def redrawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    example("demo_shop").write_shop(drawn_shop(), folder)
    return folder


@pytest.mark.parametrize("name", DRAWN)
def test_seed_gives_the_shipped_bytes(redrawn: Path, name: str) -> None:
    assert (redrawn / name).read_bytes() == (DEMO / name).read_bytes()


def test_another_seed_gives_other_semantic_ids() -> None:
    other = example("demo_shop").build_shop(seed=1)
    assert [item.sid for item in other.items] != [tuple(item["sid"]) for item in items()]


def test_all_files_together_are_small() -> None:
    files = [path for path in DEMO.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert sum(path.stat().st_size for path in files) < 1_300_000
    assert (DEMO / "model" / "model.safetensors").stat().st_size < 1_000_000


def test_items_are_distinct_and_readable() -> None:
    assert 600 <= len(items()) <= 1_000
    ids = [item["item_id"] for item in items()]
    titles = [item["metadata"]["title"] for item in items()]
    assert len(set(ids)) == len(ids)
    assert len({title.casefold() for title in titles}) == len(titles)
    assert all(title == title.strip() and 8 <= len(title) <= 70 for title in titles)
    assert not [title for title in titles if re.search(r"[{}<>]|  ", title)]


def test_semantic_ids_have_one_code_a_level_and_some_are_shared() -> None:
    sharing = Counter(tuple(item["sid"]) for item in items())
    for sid in sharing:
        assert [token[1] for token in sid] == ["a", "b", "c"]
        assert all(re.fullmatch(r"<[abc]_(0|[1-9]\d*)>", token) for token in sid)
    sizes = Counter(sharing.values())
    assert set(sizes) == {1, 2, 3}
    assert sizes[2] >= 20
    assert sizes[3] >= 10


def test_codes_carry_meaning() -> None:
    """First code = shelf, first two = line, and the third rises along the line."""
    shelves, lines = defaultdict(set), defaultdict(list)
    for item in items():
        first, second, third = item["sid"]
        shelves[item["item_id"][:2]].add(first)
        lines[item["item_id"][:3]].append((first, second, int(third[3:-1])))
    assert all(len(codes) == 1 for codes in shelves.values())
    assert len(set.union(*shelves.values())) == len(shelves) == 16
    for line in lines.values():
        assert len({path[:2] for path in line}) == 1
        assert all(here[2] <= after[2] for here, after in pairwise(line))
    assert len({line[0][:2] for line in lines.values()}) == len(lines)


def test_tokenizer_has_exactly_the_tokens_in_use() -> None:
    used = {token for item in items() for token in item["sid"]}
    specials = {"<pad>": 0, "<bos>": 1, "<eos>": 2}
    assert vocabulary().keys() == used | specials.keys()
    assert specials.items() <= vocabulary().items()
    assert sorted(vocabulary().values()) == list(range(len(vocabulary())))


def test_legal_semantic_ids_are_a_small_share_of_all_paths() -> None:
    """Else a model that ignores the catalogue would seldom leave it, and the demo show nothing."""
    levels = [len(set(codes)) for codes in zip(*(item["sid"] for item in items()), strict=True)]
    legal = len({tuple(item["sid"]) for item in items()})
    assert legal < 0.1 * levels[0] * levels[1] * levels[2]
