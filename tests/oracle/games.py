"""Games: its items, users and prompts, read without the package; leave-one-out metrics."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Sid = tuple[int, ...]


@dataclass(frozen=True)
class Games:
    """A catalogue and its users in file order.

    Attributes:
        sids: item id -> token ids, in file order.
        items: token ids -> the item ids that share them, in file order.
        users: (user, item ids in time order), in file order; the last item is the target.
        bos: token id the prompt begins with.
    """

    sids: dict[int, Sid]
    items: dict[Sid, list[int]]
    users: list[tuple[str, list[int]]]
    bos: int

    def prompt(self, history: Sequence[int], max_items: int = 50) -> list[int]:
        """<bos> and the SID tokens of the last `max_items` items before the target."""
        seen = history[:-1][-max_items:]
        return [self.bos, *(token for item in seen for token in self.sids[item])]

    def expand(self, sids: Sequence[Sid]) -> list[list[int]]:
        """The items of each SID, in file order."""
        return [self.items[sid] for sid in sids]


def read_games(model_dir: Path, index: Path, inter: Path) -> Games:
    """Reads an index.json and an inter.json, spelled by the tokenizer of a model folder."""
    vocab = json.loads((model_dir / "tokenizer.json").read_text())["model"]["vocab"]
    labels: dict[str, list[str]] = json.loads(index.read_text())
    sids = {int(item): tuple(int(vocab[x]) for x in sid) for item, sid in labels.items()}
    items: dict[Sid, list[int]] = {}
    for item, sid in sids.items():
        items.setdefault(sid, []).append(item)
    histories: dict[str, list[int]] = json.loads(inter.read_text())
    bos = json.loads((model_dir / "config.json").read_text())["bos_token_id"]
    return Games(sids, items, list(histories.items()), int(bos))


def parse_slice(text: str) -> slice:
    """`A:B` as a slice; either side may be left out."""
    first, _, last = text.partition(":")
    return slice(int(first) if first else None, int(last) if last else None)


def rank_of(target: int, item_ids: Sequence[Sequence[int]], k: int) -> int | None:
    """Position from 0 of the target among the first k items of a result, None when not there."""
    flat = [item for group in item_ids for item in group][:k]
    return flat.index(target) if target in flat else None


def metrics(ranks: Sequence[int | None], k: int) -> dict[str, Any]:
    """Recall and NDCG at k: one target a user, so the ideal gain is 1."""
    gains = [0.0 if rank is None else 1 / math.log2(rank + 2) for rank in ranks]
    return {
        f"recall@{k}": sum(rank is not None for rank in ranks) / len(ranks),
        f"ndcg@{k}": sum(gains) / len(ranks),
    }
