"""Recall of the demo model on users it has not seen, beside popularity.

The plain beam search here shares no code with `xgr`: only the paths of the catalogue are
considered, scores are log-softmax over the whole vocabulary, and every path is run from the prompt.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from copy import deepcopy

import torch
from demo_shop import BOS, Shop
from torch import Tensor
from transformers import DynamicCache, PreTrainedModel

Path = tuple[str, ...]
BEAM_WIDTH = 32


def rank(model: PreTrainedModel, shop: Shop, users: int | None = None) -> list[list[Path]]:
    """The semantic IDs that the model ranks for each held-out user (the first `users`, or all)."""
    children = _children(shop)
    histories = list(shop.held_out.values())[:users]
    return [beam_search(model, shop, history[:-1], children) for history in histories]


def score(
    rankings: list[list[Path]], shop: Shop, *, k: int = 10, exclude_seen: bool = False
) -> tuple[float, float]:
    """Recall@k and NDCG@k of the last item of each held-out history, given those before it.

    `rankings` are those of the first held-out users. An item is what is counted: the items of a
    semantic ID follow one another in the order of the catalogue.
    """
    items: dict[Path, list[str]] = defaultdict(list)
    for item in shop.items:
        items[item.sid].append(item.item_id)
    hits, gain = 0, 0.0
    for ranking, (*seen, target) in zip(rankings, shop.held_out.values(), strict=False):
        hidden = set(seen) if exclude_seen else set()
        listed = [item for sid in ranking for item in items[sid] if item not in hidden][:k]
        if target in listed:
            hits += 1
            gain += 1 / math.log2(2 + listed.index(target))
    return hits / len(rankings), gain / len(rankings)


def popularity_recall(
    shop: Shop, *, users: int | None = None, k: int = 10, exclude_seen: bool = False
) -> float:
    """Recall@k of the items that the training users took most often."""
    counts = shop.popularity
    ranked = sorted(counts, key=lambda item: -counts[item])
    histories = list(shop.held_out.values())[:users]
    hits = 0
    for *seen, target in histories:
        hits += target in [item for item in ranked if not (exclude_seen and item in seen)][:k]
    return hits / len(histories)


@torch.inference_mode()
def beam_search(
    model: PreTrainedModel, shop: Shop, seen: Sequence[str], children: dict[Path, list[str]]
) -> list[Path]:
    """The best `BEAM_WIDTH` semantic IDs after the items `seen`, best first."""
    prompt = [BOS] + [shop.token_ids[token] for item in seen for token in shop.sids[item]]
    prefilled = DynamicCache(config=model.config)
    logits = _last_logits(model, [prompt], prefilled)
    beams: list[tuple[float, Path]] = [(0.0, ())]
    for _ in range(len(shop.items[0].sid)):
        if beams[0][1]:
            cache = deepcopy(prefilled)
            cache.batch_repeat_interleave(len(beams))
            paths = [[shop.token_ids[token] for token in path] for _, path in beams]
            logits = _last_logits(model, paths, cache)
        candidates = [
            (total + row[shop.token_ids[token]], (*path, token))
            for (total, path), row in zip(beams, logits.log_softmax(-1).tolist(), strict=True)
            for token in children[path]
        ]
        beams = sorted(candidates, key=lambda beam: -beam[0])[:BEAM_WIDTH]
    return [path for _, path in beams]


def _last_logits(model: PreTrainedModel, rows: list[list[int]], cache: DynamicCache) -> Tensor:
    # The cache goes by position, because transformers is renaming its argument.
    logits: Tensor = model(torch.tensor(rows), None, None, cache).logits
    return logits[:, -1]


def _children(shop: Shop) -> dict[Path, list[str]]:
    prefixes = {item.sid[: level + 1] for item in shop.items for level in range(len(item.sid))}
    children: dict[Path, list[str]] = defaultdict(list)
    for prefix in sorted(prefixes):
        children[prefix[:-1]].append(prefix[-1])
    return children
