"""What is refused, and that the refusal names the user, the value and the limit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.engine.world import World, assert_same, beams, make_world, write_index
from xgr import Recommender
from xgr.errors import CatalogueError, InputError, ModelError


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "^k is 0"),
        ({"k": -3}, "k is -3"),
        ({"k": 2.5}, "k is 2.5"),
        ({"k": True}, "k is True"),
        ({"beam_width": 0}, "beam_width is 0, need whole numbers of at least 1"),
        ({"beam_width": -4}, "beam_width is -4"),
        ({"beam_width": True}, "beam_width is True"),
        ({"beam_width": 2.0}, r"beam_width is 2\.0"),
        ({"beam_width": None}, "beam_width is None"),
        ({"beam_width": "128"}, "beam_width is '128'"),
        ({"beam_width": [4, 4]}, "2 numbers, need one number or one for each of .* 3 levels"),
        ({"beam_width": [4, 4, 4, 4]}, "4 numbers"),
        ({"beam_width": []}, "0 numbers"),
        ({"beam_width": [4, 0, 4]}, r"beam_width is \[4, 0, 4\]"),
        ({"beam_width": [4, True, 4]}, r"beam_width is \[4, True, 4\]"),
        ({"beam_width": 4097}, "4097 exceeds max_rows=4096"),
        ({"beam_width": [1, 1, 4097]}, "4097 exceeds max_rows=4096"),
        ({"per_sid": 0}, "per_sid is 0"),
        ({"per_sid": True}, "per_sid is True"),
        ({"exclude": "12"}, "exclude is '12', need a list of item ids"),
        ({"exclude": 12}, "exclude is 12, need a list of item ids"),
        ({"allow": [[1], [2]]}, "allow has 2 entries for 1 users"),
        ({"exclude": [[1], 2]}, "exclude has 2 entries for 1 users"),
        ({"exclude": [999]}, "user 0: not in the catalogue: item 999"),
        ({"unknown": "ignore"}, "unknown is 'ignore', allowed: error, skip"),
        ({"filters": ["stock"]}, "user 0: unknown filter 'stock'"),
        ({"filters": "in_stock"}, "filters is 'in_stock', need a list of names"),
        ({"filters": 3}, "filters is 3, need a list of names"),
        ({"filters": None}, "filters is None, need a list of names"),
        ({"filters": [["a"]]}, r"filters has \['a'\], need names"),
        ({"filters": [3]}, "filters has 3, need names"),
        ({"beam_width": iter([4, 4, 4])}, "beam_width is <.*>, need one number or a list"),
        ({"beam_width": {4, 5, 6}}, "beam_width is {4, 5, 6}, need one number or a list"),
        ({"exclude": [True]}, "user 0: .*True"),
    ],
)
def test_options_are_refused(
    recommender: Recommender, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        recommender.recommend([[3]], **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "exactly one of histories, token_ids and prompts"),
        ({"histories": [[1]], "token_ids": [[1]]}, "exactly one"),
        ({"histories": [[1], []]}, "user 1: history is empty"),
        ({"histories": [[1], [999]]}, "user 1: history item 999 is not in the catalogue"),
        ({"histories": [[1], [2, "<a_1>"]]}, "user 1: "),
        ({"histories": [[1], ["<a_77><b_1><c_1>"]]}, "user 1: .*a_77"),
        ({"histories": [[1], [2.5]]}, "user 1: history item 2.5"),
        ({"histories": [[1], [None]]}, "user 1: history item None"),
        ({"histories": [1, 2]}, "user 0: a history is a list of items, got 1"),
        ({"histories": ["1", "2"]}, "user 0: a history is a list of items, got '1'"),
        ({"histories": "12"}, "got '12', need a list"),
        ({"histories": 12}, "got 12, need a list"),
        ({"histories": [[7777]], "unknown": "skip"}, "none of the 1 history items"),
        ({"token_ids": [[1, 5], []]}, "user 1: the prompt is empty"),
        ({"token_ids": [[1, 64]]}, r"token id 64, the model's are 0\.\.63"),
        ({"token_ids": [[1, -1]]}, "token id -1"),
        ({"token_ids": [1, 2]}, "user 0: a prompt is a list of token ids, got 1"),
        ({"histories": [[True]]}, "user 0: history item True"),
        ({"histories": [[10**30]]}, "user 0: history item 10{30} is not in the catalogue"),
        ({"histories": [[b"3"]]}, "user 0: history item b'3'"),
        ({"histories": [["\ud800"]]}, r"user 0: history item '\\ud800' is not in"),
        ({"token_ids": [[True, 5]]}, "user 0: the prompt has a bool"),
        ({"token_ids": [[10**30]]}, "user 0: the prompt has token id 10"),
        ({"prompts": ["<a_1>\ud800"]}, r"user 0: the text has '\\ud800' at 5"),
        ({"token_ids": [["1"]]}, "user 0: the prompt has a str"),
        ({"token_ids": [[1.0]]}, "user 0: the prompt has a float"),
        ({"prompts": [""]}, "user 0: the text prompt is empty"),
        ({"prompts": [[1]]}, "user 0: a text prompt is a string"),
        ({"prompts": "<a_1>"}, "need a list"),
        ({"prompts": ["hello"]}, "user 0: .*no token for 'hello'"),
        ({"token_ids": [[1]], "exclude_history": True}, "exclude_history needs histories"),
    ],
)
def test_users_are_refused(recommender: Recommender, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        recommender.recommend(**options)


@pytest.mark.parametrize(("limit", "name"), [(None, "128 positions"), (40, "max_tokens=40")])
def test_prompts_at_and_above_the_limit(world: World, limit: int | None, name: str) -> None:
    """Refused before anything is launched, user and limit named; at the limit it is served."""
    options = {} if limit is None else {"max_tokens": limit}
    recommender = world.recommender(**options)
    longest = limit or 128 - 2  # two more tokens are decoded
    fits, above = [1] + [5] * (longest - 1), [1] + [5] * longest
    assert len(recommender.recommend(token_ids=[fits], beam_width=4)[0].beams()) == 4
    launched = recommender.engine.launched
    with pytest.raises(InputError, match=f"user 1: .*{longest + 1} tokens.*{name}.*max_items"):
        recommender.recommend(token_ids=[[1, 5], above, [1, 6]], beam_width=4)
    assert recommender.engine.launched == launched
    assert len(recommender.recommend(token_ids=[[1, 5], [1, 6]], beam_width=4)) == 2


def test_no_users_and_unknown_history_items(world: World, recommender: Recommender) -> None:
    assert recommender.recommend([]) == []
    with_unknown = recommender.recommend([[3, 999, 5]], 9, 9, unknown="skip")[0]
    assert beams(with_unknown) == beams(recommender.recommend([[3, 5]], 9, 9)[0])


def test_every_form_of_input_is_the_same_prompt(world: World, recommender: Recommender) -> None:
    want = beams(recommender.recommend([[3, 39]], 9, 9)[0])
    labels = ["".join(world.items[item]) for item in (3, 39)]
    forms: list[dict[str, Any]] = [
        {"histories": [["3", "39"]]},
        {"histories": [labels]},
        {"histories": [[list(world.items[3]), world.items[39]]]},
        {"histories": [np.array([3, 39])]},
        {"histories": np.array([[3, 39]])},
        {"histories": ((3, 39),)},
        {"token_ids": [world.prompt([3, 39])]},
        {"token_ids": np.array([world.prompt([3, 39])])},
        {"prompts": ["".join(labels)]},
    ]
    for form in forms:
        assert beams(recommender.recommend(**form, k=9, beam_width=9)[0]) == want
    numbers = recommender.recommend([[3, 39]], np.int64(9), np.int32(9))  # type: ignore[call-overload]  # accepted
    assert beams(numbers[0]) == want
    lists = recommender.recommend([[3, 39]], 9, np.array([9, 9, 9]), exclude=np.array([1]))  # type: ignore[call-overload]  # accepted
    assert all(item.item_id != 1 for item in lists[0])


def test_histories_that_can_be_read_once(recommender: Recommender) -> None:
    want = recommender.recommend([[3, 39]], 40, 40, exclude_history=True)[0]
    users: Any = (iter([3, 39]) for _ in range(2))
    for found in recommender.recommend(users, 40, 40, exclude_history=True):
        assert_same(beams(found), beams(want), tolerance=1e-5)
        assert not {3, 39} & {item.item_id for item in found}


def test_max_items_keeps_the_last(world: World) -> None:
    recommender = world.recommender(max_items=2)
    want = beams(world.recommender().recommend([[4, 5]], 9, 9)[0])
    assert beams(recommender.recommend([[1, 2, 3, 4, 5]], 9, 9)[0]) == want


def test_engine_options_are_refused(world: World) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"normalize": "softmax"}, "allowed: vocab, level, children, none"),
        ({"kv_mode": "copy"}, "allowed: ancestors, reorder"),
        ({"max_row": 3}, "max_row.*known: .*max_rows"),
        ({"max_rows": 0}, "max_rows is 0"),
        ({"max_rows": "64"}, "max_rows is '64'"),
        ({"dtype": "int8"}, "int8.*allowed: float32"),
        ({"dtype": "int32"}, "int32.*allowed: float32"),
        ({"constrained": False, "normalize": "children"}, "needs the catalogue"),
        ({"end_tokens": (2,), "normalize": "level"}, "'vocab' only"),
        ({"end_tokens": (64,)}, "token id 64"),
        ({"end_tokens": "a"}, "end_tokens is 'a', need a list of token ids"),
        ({"end_tokens": (True,)}, r"end_tokens is \(True,\)"),
        ({"end_tokens": 3}, "end_tokens is 3"),
        ({"end_tokens": (t for t in (1, 2))}, "end_tokens is <generator"),
        ({"constrained": "no"}, "constrained is 'no'"),
        ({"max_rows": 10**12}, r"max_rows=1000000000000 .*K/V alone take \d{14,} bytes"),
        ({"max_tokens": 10**12}, r"max_tokens=1000000000000, .*K/V alone take \d{14,} bytes"),
        ({"max_requests": 10**14}, "max_requests=100000000000000: .* bytes"),
        ({"max_rows": 10**20}, r"max_rows=1\d{0}00000000000000000000 .*bytes"),
        ({"lanes": 0}, "lanes is 0"),
        ({"lanes": -1}, "lanes is -1"),
    ]
    for options, message in cases:
        with pytest.raises(InputError, match=message):
            world.recommender(**options)


def test_codes_that_the_tokenizer_lacks_are_named(world: World, tmp_path: Path) -> None:
    index = write_index(tmp_path / "x.index.json", {**world.items, 77: ("<a_0>", "<b_9>", "<c_0>")})
    with pytest.raises(CatalogueError, match=r"<b_9>.*77|77.*<b_9>"):
        Recommender.from_pretrained(world.folder, index)
    foreign = write_index(tmp_path / "y.index.json", {1: ("<x_0>", "<y_9>", "<z_0>")})
    with pytest.raises(InputError, match="x_"):
        Recommender.from_pretrained(world.folder, foreign)


def test_a_folder_that_is_no_model(world: World, tmp_path: Path) -> None:
    with pytest.raises((ModelError, InputError), match=str(tmp_path)):
        Recommender.from_pretrained(tmp_path, world.index)


def test_sampling_defaults_of_the_checkpoint_are_ignored(world: World, tmp_path: Path) -> None:
    want = beams(world.recommender().recommend([[3, 4]], 40, 40)[0])
    for path in world.folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    sampling = {"do_sample": True, "top_k": 2, "top_p": 0.1, "temperature": 0.3, "num_beams": 2}
    (tmp_path / "generation_config.json").write_text(json.dumps(sampling))
    found = Recommender.from_pretrained(tmp_path, world.index, lanes=1).recommend([[3, 4]], 40, 40)
    assert beams(found[0]) == want


def test_a_tokenizer_larger_than_the_model_is_refused(tmp_path: Path) -> None:
    """The greatest token id of a code is the last row of the embedding, or just beyond it."""
    last = max(make_world(tmp_path / "fits", vocab_size=21).vocab.values())
    assert last == 20
    assert len(make_world(tmp_path / "fits", vocab_size=21).recommender().recommend([[3]])[0]) == 10
    with pytest.raises(InputError, match=r"token id 20 .* model's 0\.\.19"):
        make_world(tmp_path / "small", vocab_size=20).recommender()


def test_filters_that_no_memory_holds(world: World) -> None:
    for options in ({"filter_capacity": 10**14}, {"filter_masks": 10**14}):
        recommender = world.recommender(**options)
        with pytest.raises(InputError, match=r"filter_\w+=100000000000000.* take \d+ bytes"):
            recommender.recommend([[3]], exclude=[1])
        assert len(recommender.recommend([[3]], 5, 5)[0]) == 5


def test_templates_with_half_a_character(world: World, tmp_path: Path) -> None:
    for path in world.folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    for field in ({"prefix": "\ud800"}, {"begin_tokens": ["a", "\udfff"]}):
        (tmp_path / "xgr.json").write_text(json.dumps({"prompt": field}))
        with pytest.raises(ModelError, match=rf"xgr.json: {next(iter(field))}: .*surrogate pair"):
            Recommender.from_pretrained(tmp_path, world.index)
    (tmp_path / "xgr.json").write_text("[" * 100_000)
    with pytest.raises(ModelError, match=r"xgr.json is not valid JSON"):
        Recommender.from_pretrained(tmp_path, world.index)


def test_the_tokenizer_refuses_what_its_library_stumbles_over(recommender: Recommender) -> None:
    tokenizer = recommender.speller.tokenizer
    calls: list[Any] = [tokenizer.encode, tokenizer.unknown_text]
    calls.append(lambda text: tokenizer.encode_each(["<a_1>", text]))
    for call in calls:
        with pytest.raises(InputError, match="half of a surrogate pair"):
            call("\udc80")
    for bad in (-1, 10**20, 10**6):
        with pytest.raises(InputError, match=f"token id {bad} is not in the tokenizer"):
            tokenizer.tokens([1, bad])


def test_a_folder_that_does_not_exist(world: World, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"nope does not exist: give the folder"):
        Recommender.from_pretrained(tmp_path / "nope", world.index)
    with pytest.raises(ModelError, match=r"index.json is no folder"):
        Recommender.from_pretrained(world.index, world.index)
