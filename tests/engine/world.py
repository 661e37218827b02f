"""A tiny checkpoint with its catalogue on disk, and every SID's score by whole forwards."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch

from tests.oracle.beam import load
from tests.oracle.tiny import BOS, tiny_catalogue, tiny_model
from xgr import Recommender
from xgr.engine import Recommendations
from xgr.engine.results import Outcome

Codes = tuple[int, ...]
Scored = list[tuple[Codes, float]]


@dataclass(frozen=True)
class World:
    """A model folder and its items.

    Attributes:
        folder: config, weights, tokenizer.
        items: item id -> labels, in file order.
        vocab: label -> token id.
        index: the catalogue file.
    """

    folder: Path
    items: Mapping[int, tuple[str, ...]]
    vocab: Mapping[str, int]
    index: Path

    @cached_property
    def model(self) -> Any:
        """The same checkpoint in transformers."""
        return load(self.folder)

    @cached_property
    def sids(self) -> dict[Codes, list[int]]:
        """Codes -> the items that share them, in file order."""
        found: dict[Codes, list[int]] = {}
        for item in self.items:
            found.setdefault(self.codes(item), []).append(item)
        return found

    @property
    def depth(self) -> int:
        return len(next(iter(self.items.values())))

    def codes(self, item: int) -> Codes:
        return tuple(int(label.split("_")[1][:-1]) for label in self.items[item])

    def tokens(self, codes: Sequence[int]) -> tuple[int, ...]:
        """Token ids of (the begin of) a SID."""
        return tuple(self.vocab[f"<{chr(97 + at)}_{code}>"] for at, code in enumerate(codes))

    def level_tokens(self, level: int) -> list[int]:
        return [t for label, t in self.vocab.items() if label.startswith(f"<{chr(97 + level)}_")]

    def prompt(self, history: Iterable[int]) -> list[int]:
        return [BOS, *(t for item in history for t in self.tokens(self.codes(item)))]

    def recommender(self, **options: Any) -> Recommender:
        return Recommender.from_pretrained(self.folder, self.index, **({"lanes": 1} | options))


def make_world(
    folder: Path,
    family: str = "qwen3",
    *,
    codes: tuple[int, ...] = (6, 5, 7),
    items: int = 40,
    catalogue: Mapping[int, Sequence[int]] | None = None,
    **model: Any,
) -> World:
    """Writes a random model and catalogue; `catalogue` gives the codes of each item instead."""
    tiny_model(folder, family, **model)
    drawn, vocab = tiny_catalogue(folder, codes=codes, items=items)
    if catalogue is not None:
        drawn = {
            item: tuple(f"<{chr(97 + at)}_{code}>" for at, code in enumerate(sid))
            for item, sid in catalogue.items()
        }
    return World(folder, drawn, vocab, write_index(folder / "items.index.json", drawn))


def write_index(path: Path, items: Mapping[int, Sequence[str]]) -> Path:
    path.write_text(json.dumps({str(item): list(labels) for item, labels in items.items()}))
    return path


@dataclass
class Brute:
    """The score of every prefix of every SID after a prompt, each from whole forwards.

    Attributes:
        score: codes of a prefix -> sum of its log-probs.
        gap: of the last search, the least difference of scores that decided anything.
    """

    world: World
    prompt: Sequence[int]
    normalize: str = "vocab"
    score: dict[Codes, float] = field(default_factory=dict)
    gap: float = float("inf")

    def __post_init__(self) -> None:
        sids = sorted(self.world.sids)
        rows = [[*self.prompt, *self.world.tokens(sid)] for sid in sids]
        with torch.inference_mode():
            logits = self.world.model(torch.tensor(rows)).logits.double()
        for row, sid in enumerate(sids):
            total = 0.0
            for level, token in enumerate(self.world.tokens(sid)):
                own = logits[row, len(self.prompt) - 1 + level]
                total += float(own[token] - self._norm(own, sid[:level]))
                self.score[sid[: level + 1]] = total

    def _norm(self, logits: torch.Tensor, prefix: Codes) -> torch.Tensor:
        level = len(prefix)
        if self.normalize == "vocab":
            return logits.logsumexp(-1)
        if self.normalize == "none":
            return torch.zeros(())
        among = self.world.level_tokens(level)
        if self.normalize == "children":
            same = (sid for sid in self.world.sids if sid[:level] == prefix)
            among = sorted({self.world.tokens(sid[: level + 1])[-1] for sid in same})
        return logits[among].logsumexp(-1)

    def search(
        self, widths: int | Sequence[int], alive: Callable[[int], bool] = lambda item: True
    ) -> Scored:
        """Beam search over the SIDs that have a living item, best first, ties by path."""
        depth = self.world.depth
        width = [widths] * depth if isinstance(widths, int) else list(widths)
        living = [sid for sid, items in self.world.sids.items() if any(map(alive, items))]
        kept: set[Codes] = {()}
        self.gap = float("inf")
        for level in range(depth):
            found = {sid[: level + 1] for sid in living if sid[:level] in kept}
            ranked = sorted(found, key=lambda prefix: (-self.score[prefix], prefix))
            self._note(ranked[width[level] - 1 : width[level] + 1])
            kept = set(ranked[: width[level]])
        best = ranked[: width[-1]]
        self._note(best)
        return [(sid, self.score[sid]) for sid in best]

    def items(
        self,
        found: Scored,
        k: int,
        *,
        alive: Callable[[int], bool] = lambda item: True,
        per_sid: int | None = None,
    ) -> list[int]:
        """The first k living items of SIDs."""
        groups = [[i for i in self.world.sids[sid] if alive(i)][:per_sid] for sid, _ in found]
        return [item for group in groups for item in group][:k]

    def _note(self, ranked: Sequence[Codes]) -> None:
        scores = [self.score[prefix] for prefix in ranked]
        for better, worse in pairwise(scores):
            self.gap = min(self.gap, better - worse)


def beams(found: Outcome) -> Scored:
    """(codes, score) of every SID that came out, best first."""
    assert isinstance(found, Recommendations), found
    return [(beam.codes or (), beam.score) for beam in found.beams()]


def token_beams(found: Recommendations) -> Scored:
    """(token ids, score) of every SID that came out, best first."""
    return [(beam.token_ids, beam.score) for beam in found.beams()]


def assert_same(got: Scored, want: Scored, tolerance: float = 1e-4) -> None:
    """The same SIDs in the same order with the same scores."""
    assert [sid for sid, _ in got] == [sid for sid, _ in want]
    worst = max((abs(a - b) for (_, a), (_, b) in zip(got, want, strict=True)), default=0.0)
    assert worst <= tolerance
