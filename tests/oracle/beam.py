"""The exact beam search: one prefill, its cache expanded to the beams, masked before the top-k."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

from tests.oracle.kv import BeamCache, CacheMaker, DynamicBeams
from tests.oracle.trie import Trie

Sid = tuple[int, ...]
Scored = list[tuple[Sid, float]]


class Found(NamedTuple):
    """What a search found.

    Attributes:
        results: (token ids, score) of at most the last width's SIDs, best first; ties by path.
        cut_gaps: a level's score of the last survivor less that of the best candidate cut off;
            infinite where nothing was cut.
    """

    results: Scored
    cut_gaps: list[float]


def load(model_dir: Path | str, *, attention: str = "sdpa") -> Any:
    """The checkpoint as an HF causal LM in float32 on the CPU, ready to be called."""
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    quiet: Any = logging  # untyped
    quiet.disable_progress_bar()
    model: Any = AutoModelForCausalLM.from_pretrained(
        model_dir, dtype=torch.float32, attn_implementation=attention
    )
    return model.eval()


@torch.inference_mode()
def beam_search(
    model: Any,
    prompt_ids: Sequence[int],
    sids: Iterable[Sequence[int]] | Trie,
    widths: int | Sequence[int],
    *,
    normalize: str = "vocab",
    level_tokens: Sequence[Sequence[int]] | None = None,
    beam_cache: CacheMaker = DynamicBeams,
) -> Found:
    """The best SIDs after a prompt, by the sum of their tokens' log-probabilities.

    Args:
        model: from `load`.
        prompt_ids: token ids of the prompt, at least one.
        sids: the catalogue's token tuples, or their trie when many prompts share it.
        widths: beam width, one for all levels or one a level.
        normalize: what a log-probability is normalised over: "vocab" all rows of the head,
            "level" the tokens in `level_tokens`, "children" a beam's children, "none" nothing.
        level_tokens: token ids of each level, for "level".
        beam_cache: makes the K/V cache; the library's own, or a `FixedBeams` kept between calls.
    """
    trie = sids if isinstance(sids, Trie) else Trie(sids)
    width = [widths] * trie.depth if isinstance(widths, int) else list(widths)
    if len(width) != trie.depth or min(width) < 1:
        raise ValueError(f"widths must be {trie.depth} numbers of at least 1, got {widths}")
    past = beam_cache(model.config, trie.depth - 1)
    given = _as_argument(model, past)
    logits = _forward(model, torch.tensor([list(prompt_ids)]), given)
    paths = torch.empty((1, 0), dtype=torch.int64)
    node = torch.zeros(1, dtype=torch.int64)
    score = torch.zeros(1, dtype=torch.float64)
    gaps = []
    for level in range(trie.depth):
        rows, child = trie.children(level, node)
        token = trie.tokens[level][child]
        raw = logits[rows, token].double()
        norm = _log_norm(logits, raw, rows, normalize, level_tokens, level)
        candidates = score[rows] + (raw - norm[rows])
        if candidates.isnan().any():
            raise ValueError(f"NaN among the logits of level {level}")
        kept, gap = _cut(candidates, width[level])
        gaps.append(gap)
        parent, node, score = rows[kept], child[kept], candidates[kept]
        paths = torch.cat((paths[parent], token[kept, None]), dim=1)
        if level + 1 < trie.depth:
            past.follow(parent)
            logits = _forward(model, token[kept, None], given)
    best = score.argsort(descending=True, stable=True)
    sids_out = [tuple(path) for path in paths[best].tolist()]
    return Found(list(zip(sids_out, score[best].tolist(), strict=True)), gaps)


def _forward(model: Any, ids: torch.Tensor, past: dict[str, Any]) -> torch.Tensor:
    """Logits float32 [rows, V] of the last position of ids [rows, n]; the cache grows by n."""
    out = model(input_ids=ids, use_cache=True, logits_to_keep=1, **past)
    logits: torch.Tensor = out.logits[:, -1]
    return logits


def _as_argument(model: Any, past: BeamCache) -> dict[str, Any]:
    """The cache under the name that the library has for it: renamed within its fifth version."""
    known = inspect.signature(model.forward).parameters
    return {"cache" if "cache" in known else "past_key_values": past.layers}


def _log_norm(
    logits: torch.Tensor,
    raw: torch.Tensor,
    rows: torch.Tensor,
    normalize: str,
    level_tokens: Sequence[Sequence[int]] | None,
    level: int,
) -> torch.Tensor:
    """What is subtracted from the logits of each beam, float64 [n]."""
    if normalize == "vocab":
        return logits.logsumexp(-1).double()
    if normalize == "none":
        return torch.zeros(len(logits), dtype=torch.float64)
    if normalize == "children":
        only = torch.full(logits.shape[:1], 0.0, dtype=torch.float64)
        peak = logits.amax(-1).double()
        only.index_add_(0, rows, (raw - peak[rows]).exp())
        return only.log() + peak
    if normalize == "level" and level_tokens is not None:
        return logits[:, torch.tensor(list(level_tokens[level]))].double().logsumexp(-1)
    raise ValueError(
        f"normalize must be vocab, children, none, or level with level_tokens, got {normalize}"
    )


def _cut(candidates: torch.Tensor, width: int) -> tuple[torch.Tensor, float]:
    """Ascending indices of the best `width` candidates, the first of equals, and the cut gap."""
    if len(candidates) <= width:
        return torch.arange(len(candidates)), float("inf")
    top = candidates.topk(width + 1).values
    last = top[width - 1]
    keep = candidates > last
    equals = (candidates == last).nonzero()[:, 0]
    keep[equals[: width - int(keep.sum())]] = True
    return keep.nonzero()[:, 0], float(last - top[width])
