"""Prompt templates: published prompt strings, token ids, truncation, xgr.json."""

from __future__ import annotations

import ast
import csv
import json
from pathlib import Path

import pytest

from tests.data import shared
from tests.models.tiny import BREAKS, byte_bpe, words
from xgr.errors import InputError, ModelError
from xgr.models.tokens import (
    PUBLISHED,
    PromptTemplate,
    Tokenizer,
    load_template,
    named_template,
    token_ids,
)

INDEX = [("<a_1>", "<b_2>", "<c_3>"), ("<a_4>", "<b_5>", "<c_6>")]
ONEREC = [("<s_a_1>", "<s_b_2>", "<s_c_3>"), ("<s_a_4>", "<s_b_5>", "<s_c_6>")]
INDEX_LABELS = [label for item in INDEX for label in item]
CHAT = ["<|im_start|>", "<|im_end|>", "<|sid_begin|>", "<|sid_end|>", "<think>", "</think>"]

MINIONEREC = (
    "Below is an instruction that describes a task, paired with an input that provides further "
    "context. Write a response that appropriately completes the request. \n\n### Instruction:\n"
    "Can you predict the next possible item that the user may expect?\n\n### User Input: \nCan you "
    "predict the next possible item the user may expect, given the following chronological "
    "interaction history: <a_1><b_2><c_3>, <a_4><b_5><c_6>\n\n### Response:\n"
)
LCREC = (
    "Below is an instruction that describes a task. Write a response that appropriately completes "
    "the request.\n\n### Instruction:\nThe user has interacted with items <a_1><b_2><c_3>, "
    "<a_4><b_5><c_6> in chronological order. Can you predict the next possible item that the user "
    "may expect?\n\n### Response:"
)
OPENONEREC = (
    "<|im_start|>system\n你是一个智能推荐助手，能够根据用户的浏览历史预测用户可能感兴趣的下一个内容。"
    "<|im_end|>\n<|im_start|>user\n根据以下用户浏览记录，请预测用户接下来可能观看的内容：\n"
    "<|sid_begin|><s_a_1><s_b_2><s_c_3><|sid_end|><|sid_begin|><s_a_4><s_b_5><s_c_6><|sid_end|>"
    "/no_think<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n<|sid_begin|>"
)


def test_plain_is_the_items_alone() -> None:
    tokenizer = Tokenizer(words(*INDEX_LABELS), bos_id=1)
    plain = named_template("plain")
    assert plain.prompt_text(INDEX) == "<a_1><b_2><c_3><a_4><b_5><c_6>"
    assert plain.encode(INDEX, tokenizer) == [1, 3, 4, 5, 6, 7, 8]
    assert plain.encode(INDEX, Tokenizer(words(*INDEX_LABELS))) == [3, 4, 5, 6, 7, 8]
    assert plain.begin_token_ids(tokenizer) == plain.end_token_ids(tokenizer) == []


def test_minionerec_is_the_prompt_of_its_evaluation() -> None:
    """AkaliKong/MiniOneRec 81b4ba9, data.py EvalSidDataset.pre, as evaluate.py feeds it.

    The instruction and the rest are tokenized apart, bos first where the tokenizer has one; the
    target is the SID, a line break and eos; a history holds at most 10 items.
    """
    template = named_template("minionerec")
    assert template.prompt_text(INDEX) == MINIONEREC
    tokenizer = Tokenizer(byte_bpe(INDEX_LABELS, ["<s>", "</s>"]), bos_id=257, eos_id=258)
    ids = template.encode(INDEX, tokenizer)
    assert ids[0] == 257
    assert tokenizer.decode(ids[1:]) == MINIONEREC
    assert ids.count(tokenizer.vocabulary[BREAKS]) == 1  # the end of the instruction
    assert template.end_token_ids(tokenizer) == [*tokenizer.encode("\n"), 258]
    assert template.max_items == 10


def test_lcrec_is_its_first_test_prompt() -> None:
    """zhengbw0324/LC-Rec 4dde5da: prompt.py sft_prompt and seqrec prompt 0, utils.py defaults.

    History of 20 items joined by ", ", bos first (Llama's tokenizer writes it), eos after the SID.
    """
    template = named_template("lcrec")
    assert template.prompt_text(INDEX) == LCREC
    tokenizer = Tokenizer(byte_bpe(INDEX_LABELS, ["<s>", "</s>"]), bos_id=257, eos_id=258)
    ids = template.encode(INDEX, tokenizer)
    assert ids[0] == 257
    assert tokenizer.decode(ids[1:]) == LCREC
    assert template.end_token_ids(tokenizer) == [258]
    assert template.max_items == 20


def test_openonerec_is_its_benchmark_prompt() -> None:
    """Kuaishou-OneRec/OpenOneRec 1f4a99e: data/onerec_data/sft/video_rec.py (first system and user
    prompt, 512 items) through benchmarks/.../qwen3_soft_switch.jinja2 without thinking, then the
    benchmark's prompt_token.
    """
    template = named_template("openonerec")
    assert template.prompt_text(ONEREC) + "<|sid_begin|>" == OPENONEREC
    labels = [label for item in ONEREC for label in item]
    tokenizer = Tokenizer(byte_bpe(labels, CHAT), bos_id=0, eos_id=1)
    ids = template.encode(ONEREC, tokenizer)
    assert tokenizer.decode(ids) == OPENONEREC
    assert ids[-1:] == template.begin_token_ids(tokenizer) == [tokenizer.vocabulary[CHAT[2]]]
    assert template.end_token_ids(tokenizer) == [tokenizer.vocabulary["<|sid_end|>"]]
    assert template.max_items == 512


def test_a_minionerec_row_is_spelled_from_its_catalogue() -> None:
    name = "Industrial_and_Scientific"
    root = shared("data/minionerec_amazon")
    index = json.loads((root / f"index/{name}.index.json").read_text())
    with (root / f"test/{name}_5_2016-10-2018-11.csv").open(newline="") as file:
        row = next(csv.DictReader(file))
    history = [index[str(item)] for item in ast.literal_eval(row["history_item_id"])]
    spelled = ", ".join(ast.literal_eval(row["history_item_sid"]))
    text = named_template("minionerec").prompt_text(history)
    assert text.endswith(f"interaction history: {spelled}\n\n### Response:\n")


@pytest.mark.parametrize(
    ("keep", "count", "kept"),
    [("last", 1, INDEX[1:]), ("first", 1, INDEX[:1]), ("last", 9, INDEX), ("first", 9, INDEX)],
)
def test_max_items_keeps_one_end(keep: str, count: int, kept: list[tuple[str, ...]]) -> None:
    template = named_template("plain").replace(max_items=count, keep_items=keep)
    assert template.kept(INDEX) == kept
    assert template.prompt_text(INDEX) == "".join("".join(item) for item in kept)


def test_an_empty_history_is_an_error_that_says_what_to_do() -> None:
    tokenizer = Tokenizer(words(*INDEX_LABELS), bos_id=1)
    for template in PUBLISHED.values():
        with pytest.raises(InputError, match=r"history is empty.*text prompt"):
            template.encode([], tokenizer)
    with pytest.raises(InputError, match="item without codes"):
        named_template("plain").encode([INDEX[0], ()], tokenizer)


def test_an_unknown_code_is_named_and_never_becomes_the_unknown_token() -> None:
    tokenizer = Tokenizer(words(*INDEX_LABELS))
    with pytest.raises(InputError, match="history: '<a_9>' is not a token"):
        named_template("plain").encode([("<a_9>", "<b_2>")], tokenizer)


def test_the_wrong_template_for_a_tokenizer_is_an_error() -> None:
    tokenizer = Tokenizer(words(*INDEX_LABELS))
    with pytest.raises(InputError, match="template lcrec: the tokenizer has no token for 'Below"):
        named_template("lcrec").encode(INDEX, tokenizer)
    joined = named_template("plain").replace(item_separator=", ")
    with pytest.raises(InputError, match="no token for ', ' in the prompt"):
        joined.encode(INDEX, tokenizer)


def test_a_code_that_the_prompt_tears_apart_is_an_error() -> None:
    # As vocabulary entries, but not as added tokens: no merge ever builds them.
    backend = byte_bpe([])
    data = json.loads(backend.to_str())
    data["model"]["vocab"]["<a_1>"] = 257
    torn = Tokenizer(backend.from_str(json.dumps(data)))
    with pytest.raises(InputError, match="'<a_1>' does not stay one token"):
        named_template("plain").encode([("<a_1>",)], torn)


def test_a_text_prompt_gets_bos_and_begin_tokens_and_nothing_else() -> None:
    tokenizer = Tokenizer(words(*INDEX_LABELS), bos_id=1)
    template = named_template("plain").replace(begin_tokens=["<eos>"], max_items=1)
    assert template.encode_text("<a_4><a_1>", tokenizer) == [1, 6, 3, 2]
    with pytest.raises(InputError, match="text prompt is empty"):
        template.encode_text("", tokenizer)
    with pytest.raises(InputError, match="no token for 'hello'"):
        template.encode_text("<a_4>hello", tokenizer)


def test_begin_and_end_tokens_that_do_not_exist_are_named() -> None:
    tokenizer = Tokenizer(words(*INDEX_LABELS))
    template = named_template("plain").replace(begin_tokens=["<go>"], end_tokens=["<stop>"])
    with pytest.raises(InputError, match="begin_tokens: '<go>' is not a token"):
        template.encode(INDEX, tokenizer)
    with pytest.raises(InputError, match="end_tokens: '<stop>' is not a token"):
        template.end_token_ids(tokenizer)
    with pytest.raises(InputError, match="template lcrec ends with eos"):
        named_template("lcrec").end_token_ids(tokenizer)


def test_level_labels_of_a_template() -> None:
    tokenizer = Tokenizer(words("<a_10>", "<a_9>", "<b_2>"))
    template = named_template("minionerec")
    assert template.level_labels(tokenizer, 2) == (("<a_9>", "<a_10>"), ("<b_2>",))
    assert named_template("plain").level_labels(tokenizer, 2) is None
    with pytest.raises(InputError, match=r"level 2: no token.*<c_\{code\}>"):
        template.level_labels(tokenizer, 3)
    with pytest.raises(InputError, match="code tokens for 5 levels, 6 asked"):
        template.level_labels(tokenizer, 6)


def test_loading_by_name_by_file_and_by_default(tmp_path: Path) -> None:
    assert load_template(tmp_path) == PUBLISHED["plain"]
    assert load_template(tmp_path, "lcrec") == PUBLISHED["lcrec"]
    with pytest.raises(InputError, match="'tiger' is not known; known: plain, minionerec, lcrec"):
        load_template(tmp_path, "tiger")
    path = tmp_path / "xgr.json"
    path.write_text('{"prompt": {"template": "minionerec", "max_items": 3, "item_separator": ";"}}')
    loaded = load_template(tmp_path)
    assert (loaded.max_items, loaded.item_separator) == (3, ";")
    assert loaded.suffix == PUBLISHED["minionerec"].suffix
    assert load_template(tmp_path, "plain") == PUBLISHED["plain"]
    path.write_text('{"prompt": {"prefix": "<bos>", "code_tokens": ["<x_{code}>"], "bos": false}}')
    own = PromptTemplate(
        name="plain of xgr.json", prefix="<bos>", code_tokens=("<x_{code}>",), bos=False
    )
    assert load_template(tmp_path) == own


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('{"prompt": {"sufix": ""}}', "'sufix'.*suffix"),
        ('{"promt": {}}', "unknown key 'promt'; known: prompt"),
        ('{"prompt": {"template": "tiger"}}', "'tiger' is not known"),
        ('{"prompt": {"template": ["plain"]}}', "is not known"),
        ('{"prompt": {"max_items": 0}}', "max_items"),
        ('{"prompt": {"max_items": "50"}}', "max_items"),
        ('{"prompt": {"keep_items": "newest"}}', "keep_items"),
        ('{"prompt": {"code_tokens": ["<a_0>"]}}', "'<a_0>' needs text and one {code}"),
        ('{"prompt": {"code_tokens": ["{code}"]}}', "needs text and one {code}"),
        ('{"prompt": []}', "need an object"),
    ],
)
def test_a_wrong_xgr_json_is_refused_by_name(tmp_path: Path, text: str, named: str) -> None:
    (tmp_path / "xgr.json").write_text(text)
    with pytest.raises(ModelError, match=rf"xgr\.json.*{named}"):
        load_template(tmp_path)


def test_the_games_prompt_is_bos_and_the_last_50_items() -> None:
    folder = shared("models/games-qwen3-6m")
    games = shared("data/genrec_mimi/Games")
    items = json.loads((games / "Games.index.json").read_text())
    users = json.loads((games / "Games.inter.json").read_text())
    tokenizer = Tokenizer.load(folder)
    template = load_template(folder).replace(max_items=50)
    longest = max(list(users.values())[:1000], key=len)[:-1]
    history = [items[str(item)] for item in longest]
    expected = [
        token
        for item in history[-50:]
        for level, label in enumerate(item)
        for token in token_ids(tokenizer, [label], level)
    ]
    assert len(longest) > 50
    assert template.encode(history, tokenizer) == [1, *expected]
