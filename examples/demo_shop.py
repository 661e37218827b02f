"""The demo shop: its items, their semantic IDs, and the data files of `xgr/demo`.

    python examples/demo_shop.py --out xgr/demo

writes everything there but the weights. The standard library is enough, and of `random` only
`random()` is used, whose stream Python promises to keep: the same seed gives the same bytes.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from demo_users import Behaviour, Catalogue, Item, draw_histories
from demo_words import SHELVES, Shelf

SEED = 2512
TRAINING_USERS = 24_000
HELD_OUT_USERS = 400

SHARED_SHARE = 0.1  # of the SIDs: one or two variants of the first item lie on the same SID
CODES_PER_LINE = 5  # second code: 5 * place of the line on its shelf + 0..4
CODES_PER_STAGE = 3  # third code: 3 * stage within the line + 0..2
SPECIAL_TOKENS = ("<pad>", "<bos>", "<eos>")
PAD, BOS, EOS = range(3)
MAX_TOKENS = 256


@dataclass(frozen=True)
class Shop:
    """All that is drawn from the seed; histories are item ids in time order, oldest first."""

    items: tuple[Item, ...]
    training: tuple[tuple[str, ...], ...]
    held_out: dict[str, tuple[str, ...]]

    @cached_property
    def popularity(self) -> dict[str, int]:
        """How often the training users took each item, in the order of the catalogue."""
        counts = Counter(item_id for history in self.training for item_id in history)
        return {item.item_id: counts[item.item_id] for item in self.items}

    @cached_property
    def sids(self) -> dict[str, tuple[str, ...]]:
        """The semantic ID of each item, by item id."""
        return {item.item_id: item.sid for item in self.items}

    @cached_property
    def token_ids(self) -> dict[str, int]:
        """The id of each token; the position in `tokens`."""
        return {token: index for index, token in enumerate(self.tokens)}

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """The vocabulary in token-id order: only codes in use, sorted as text, level by level."""
        levels = zip(*(item.sid for item in self.items), strict=True)
        return SPECIAL_TOKENS + tuple(token for level in levels for token in sorted(set(level)))


def build_shop(seed: int = SEED) -> Shop:
    """Draw the items, then the training users, then users whose history no training user has."""
    items = _items(random.Random(seed))
    behaviour = Behaviour(Catalogue(items), random.Random(seed + 1))
    training = draw_histories(behaviour, random.Random(seed + 2), TRAINING_USERS)
    held_out = draw_histories(
        behaviour, random.Random(seed + 3), HELD_OUT_USERS, unlike=frozenset(training)
    )
    named = {f"u{number:03d}": history for number, history in enumerate(held_out, start=1)}
    return Shop(items, training, named)


def write_shop(shop: Shop, out: Path) -> None:
    """Write items.jsonl, histories.json, popularity.json and the tokenizer under `out`."""
    (out / "model").mkdir(parents=True, exist_ok=True)
    with (out / "items.jsonl").open("w", encoding="utf-8") as file:
        for item in shop.items:
            row = {"item_id": item.item_id, "sid": item.sid, "metadata": {"title": item.title}}
            file.write(json.dumps(row) + "\n")
    users = [f'"{user}": {json.dumps(history)}' for user, history in shop.held_out.items()]
    _write(out / "histories.json", "{\n" + ",\n".join(users) + "\n}\n")
    _write(out / "popularity.json", json.dumps(shop.popularity) + "\n")
    tokenizer = json.dumps(_tokenizer(shop.token_ids), indent=1)
    _write(out / "model" / "tokenizer.json", tokenizer + "\n")
    special = dict(zip(("pad_token", "bos_token", "eos_token"), SPECIAL_TOKENS, strict=True))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        **special,
        "model_max_length": MAX_TOKENS,
    }
    _write(out / "model" / "tokenizer_config.json", json.dumps(config, indent=1) + "\n")


def _items(rng: random.Random) -> tuple[Item, ...]:
    items = []
    for place, shelf in enumerate(SHELVES):
        for line in range(len(shelf.lines)):
            second = CODES_PER_LINE * line + int(rng.random() * CODES_PER_LINE)
            for stage, title in enumerate(_titles(shelf, line)):
                third = CODES_PER_STAGE * stage + int(rng.random() * CODES_PER_STAGE)
                sid = (f"<a_{place}>", f"<b_{second}>", f"<c_{third}>")
                item_id = f"{shelf.prefix}{line + 1}-{stage + 1:02d}"
                position = (place * len(shelf.lines) + line, stage)
                items.append(Item(item_id, sid, title, *position))
                shared = rng.random()
                extra = 0 if shared >= SHARED_SHARE else 2 if shared < SHARED_SHARE / 4 else 1
                for letter, variant in zip("bc"[:extra], shelf.variants[:extra], strict=True):
                    items.append(Item(item_id + letter, sid, f"{title}, {variant}", *position))
    return tuple(items)


def _titles(shelf: Shelf, line: int) -> list[str]:
    name = shelf.lines[line]
    if shelf.ranges:
        return [f"{name} {good}" for good in shelf.ranges[line % len(shelf.ranges)]]
    words = len(shelf.firsts)
    titles = []
    for stage in range(words - line % 3):  # stories run to eight, nine or ten parts
        first = shelf.firsts[stage]
        second = shelf.seconds[(stage + 3 * line) % words]
        pair = shelf.pair.format(first=first, second=second)
        titles.append(shelf.title.format(line=name, pair=pair, number=stage + 1))
    return titles


def _tokenizer(vocabulary: dict[str, int]) -> dict[str, object]:
    """A `tokenizers` word-level model whose words are the `<...>` pieces of the text."""
    split = {
        "type": "Split",
        "pattern": {"Regex": "<[^<>]+>"},
        "behavior": "Isolated",
        "invert": False,
    }
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": split,
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": SPECIAL_TOKENS[0]},
    }


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder to write, e.g. xgr/demo")
    write_shop(build_shop(), parser.parse_args().out)
