"""Tokenizer folders, and the explicit map between codes and tokens."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.data import shared
from tests.models.tiny import byte_bpe, folder, words
from xgr.errors import InputError, ModelError
from xgr.models.tokens import Tokenizer, infer_patterns, level_labels, token_ids


def test_special_tokens_come_from_the_tokenizer_config(tmp_path: Path) -> None:
    folder(tmp_path, words("<a_0>"), bos_token={"content": "<bos>"}, eos_token="<eos>")
    tokenizer = Tokenizer.load(tmp_path)
    assert (tokenizer.bos_id, tokenizer.eos_id, tokenizer.unk_id, len(tokenizer)) == (1, 2, 0, 4)


def test_a_tokenizer_without_bos_has_none_whatever_config_json_says(tmp_path: Path) -> None:
    folder(tmp_path, words("<a_0>"), bos_token=None)
    (tmp_path / "config.json").write_text('{"bos_token_id": 1, "eos_token_id": [2]}')
    assert Tokenizer.load(tmp_path).bos_id is None
    (tmp_path / "tokenizer_config.json").unlink()
    loaded = Tokenizer.load(tmp_path)
    assert (loaded.bos_id, loaded.eos_id) == (1, 2)


def test_a_special_token_that_does_not_exist_is_named(tmp_path: Path) -> None:
    folder(tmp_path, words(), bos_token="<s>")
    with pytest.raises(ModelError, match=r"bos_token is '<s>'.*tokenizer\.json"):
        Tokenizer.load(tmp_path)


def test_a_missing_or_broken_tokenizer_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"has no tokenizer\.json"):
        Tokenizer.load(tmp_path)
    (tmp_path / "tokenizer.model").write_bytes(b"")
    with pytest.raises(ModelError, match=r"has tokenizer\.model but no.*AutoTokenizer"):
        Tokenizer.load(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelError, match=r"tokenizer\.json is not a tokenizer"):
        Tokenizer.load(tmp_path)


def test_truncation_and_padding_of_the_file_are_switched_off(tmp_path: Path) -> None:
    backend = words("<a_0>")
    backend.enable_truncation(2)
    backend.enable_padding(length=8)
    tokenizer = Tokenizer.load(folder(tmp_path, backend))
    assert tokenizer.encode("<a_0>" * 5) == [3] * 5


def test_ids_and_tokens_both_ways() -> None:
    tokenizer = Tokenizer(words("<a_0>", "<a_1>"))
    assert tokenizer.tokens([4, 3]) == ["<a_1>", "<a_0>"]
    with pytest.raises(InputError, match=r"token id 9 is not in the tokenizer \(5 tokens\)"):
        tokenizer.tokens([3, 9])
    bpe = Tokenizer(byte_bpe(["<a_0>"], special=["<end>"]))
    assert bpe.decode(bpe.encode("näin <a_0>, <end>")) == "näin <a_0>, <end>"


@pytest.mark.parametrize(
    ("labels", "patterns"),
    [
        (("<a_236>", "<b_231>", "<c_226>"), ("<a_{code}>", "<b_{code}>", "<c_{code}>")),
        (("<s_a_340>", "<s_b_6566>"), ("<s_a_{code}>", "<s_b_{code}>")),
        (("<l1_12>", "<l2_7>"), ("<l1_{code}>", "<l2_{code}>")),
        (("C12", "C7"), ("C{code}", "C{code}")),
        (("12", "7"), None),
        (("<a_1>", "<end>"), None),
        ((), None),
    ],
)
def test_patterns_are_inferred_from_one_item(
    labels: tuple[str, ...], patterns: tuple[str, ...] | None
) -> None:
    assert infer_patterns(labels) == patterns


def test_labels_are_in_natural_order_though_ids_are_not() -> None:
    tokenizer = Tokenizer(words("<a_0>", "<a_10>", "<a_2>", "<b_1>", "<aa_3>", "<a_x>", "<a_4>!"))
    levels = level_labels(tokenizer, ("<a_{code}>", "<b_{code}>"))
    assert levels == (("<a_0>", "<a_2>", "<a_10>"), ("<b_1>",))
    assert token_ids(tokenizer, levels[0]) == (3, 5, 4)


def test_a_pattern_is_text_and_not_an_expression() -> None:
    tokenizer = Tokenizer(words("<a.1>", "<ab2>"))
    assert level_labels(tokenizer, ("<a.{code}>",)) == (("<a.1>",),)


def test_a_level_without_tokens_is_named() -> None:
    with pytest.raises(InputError, match=r"level 1: no token.*'<b_\{code\}>'"):
        level_labels(Tokenizer(words("<a_0>")), ("<a_{code}>", "<b_{code}>"))


def test_labels_that_are_no_single_token_are_errors_with_their_level() -> None:
    tokenizer = Tokenizer(words("<a_0>", "a_1"))
    with pytest.raises(InputError, match="level 2: '<a_7>' is not a token"):
        token_ids(tokenizer, ["<a_0>", "<a_7>"], level=2)
    with pytest.raises(InputError, match="level 1: '<a_0>' stands for two codes"):
        token_ids(tokenizer, ["<a_0>", "<a_0>"], level=1)
    bpe = Tokenizer(byte_bpe(["<a_0>"]))
    with pytest.raises(InputError, match="level 0: '<a_7>' is not a token"):
        token_ids(bpe, ["<a_0>", "<a_7>"])


def test_a_token_that_text_does_not_reach_is_an_error() -> None:
    # In the vocabulary, but the pre-tokenizer cuts it: the model never saw it in a prompt.
    backend = words("<a_0>", "x<a_0>")
    with pytest.raises(InputError, match=r"'x<a_0>' is tokenized as 2 tokens"):
        token_ids(Tokenizer(backend), ["x<a_0>"])


def test_every_code_of_the_games_catalogue_has_its_token() -> None:
    tokenizer = Tokenizer.load(shared("models/games-qwen3-6m"))
    items = json.loads(shared("data/genrec_mimi/Games/Games.index.json").read_text())
    patterns = infer_patterns(items["0"])
    assert patterns == ("<a_{code}>", "<b_{code}>", "<c_{code}>", "<d_{code}>")
    levels = level_labels(tokenizer, patterns)
    used = [{item[level] for item in items.values()} for level in range(4)]
    assert [set(labels) for labels in levels] == used
    ids = [token_ids(tokenizer, labels, level) for level, labels in enumerate(levels)]
    assert sorted(i for level in ids for i in level) == list(range(3, len(tokenizer)))
    numbers = [int(label[3:-1]) for label in levels[0]]
    assert numbers == sorted(numbers)
