"""Leave-one-out evaluation: the last item of each history is what should be recommended."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import log2
from pathlib import Path
from typing import Any, Literal

from xgr.catalog import ItemId
from xgr.engine.recommender import Recommender
from xgr.engine.request import Width
from xgr.engine.results import Recommendations
from xgr.errors import InputError, RequestFailed

# users whose results are held at once
_CHUNK = 256
# failed users that are named
_NAMED = 5


@dataclass(slots=True)
class Evaluation:
    """Sums over users, and the rates that follow.

    Attributes:
        k: cut-off of recall and NDCG.
        users: users evaluated.
        skipped: users with fewer than two items.
        failed: users that were refused or failed; they count in no rate.
        failures: the first of these by name, each with its error.
        hits: users whose target is among the first k items.
        gain: sum of 1 / log2(rank + 1) over hits, rank from 1.
        beams: SIDs that came out of all searches.
        invalid: of these, token sequences that spell no SID of the catalogue.
        seconds: time inside `recommend`, tokenisation included.
        rows: what each user got, when kept.
    """

    k: int
    users: int = 0
    skipped: int = 0
    failed: int = 0
    failures: dict[str, str] = field(default_factory=dict)
    hits: int = 0
    gain: float = 0.0
    beams: int = 0
    invalid: int = 0
    seconds: float = 0.0
    rows: list[dict[str, Any]] = field(default_factory=list)

    def metrics(self) -> dict[str, float | int]:
        """Rates by their names in the field."""
        users = max(1, self.users)
        return {
            "users": self.users,
            "skipped": self.skipped,
            "failed": self.failed,
            f"recall@{self.k}": self.hits / users,
            f"ndcg@{self.k}": self.gain / users,
            "invalid_rate": self.invalid / max(1, self.beams),
            "users_per_s": self.users / self.seconds if self.seconds else 0.0,
        }


def read_histories(path: str | Path) -> dict[str, list[ItemId]]:
    """Histories of a file: {"user": [items in time order]}, as JSON, or JSON lines of such objects.

    Lines end with a line feed, in files whose names end with .jsonl or .ndjson.

    Raises:
        InputError: another form, with the user.
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
        lines = file.suffix in (".jsonl", ".ndjson")
        objects = text.split("\n") if lines else [text]  # other breaks may stand inside a string
        parsed = [json.loads(line, object_pairs_hook=_distinct) for line in objects if line.strip()]
    except InputError as error:
        raise InputError(f"{file}: {error}") from error
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{file}: histories cannot be read: {error}") from error
    histories: dict[str, list[ItemId]] = {}
    for entry in parsed:
        if not isinstance(entry, dict):
            raise InputError(f'{file}: need {{"user": [item ids in time order]}} objects')
        for user, items in entry.items():
            if not isinstance(items, list) or not all(type(i) in (int, str) for i in items):
                raise InputError(f"{file}: user {user!r} has {items!r}, need a list of item ids")
            if user in histories:
                raise InputError(f"{file}: user {user!r} is there twice")
            histories[user] = items
    return histories


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; of two equal names the parser would keep the last without a word."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for at, name in enumerate(names) if name in names[:at])
        raise InputError(f"user {twice!r} is there twice")
    return found


def evaluate(
    recommender: Recommender,
    histories: Mapping[str, Sequence[ItemId]],
    *,
    k: int = 10,
    beam_width: Width = 128,
    exclude_history: bool = False,
    unknown: Literal["error", "skip"] = "error",
    keep_rows: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Evaluation:
    """Recommend from each history without its last item, and look for that item.

    A user that is refused or fails is counted as such, and the others are evaluated.

    Args:
        recommender: what is measured.
        histories: items in time order by user; users with fewer than two are skipped.
        k: cut-off.
        beam_width: beams, one number or one a level.
        exclude_history: earlier items may not come out (an item bought twice is then a miss).
        unknown: history items that the catalogue lacks fail the user ("error") or are left out
            ("skip").
        keep_rows: keep every user's SIDs, scores and items in `rows`.
        progress: told how many users were done.

    Raises:
        InputError: nobody has two items, or an option that no user can be served with.
    """
    result = Evaluation(k)
    usable = [(user, items) for user, items in histories.items() if len(items) >= 2]
    result.skipped = len(histories) - len(usable)
    if not usable:
        raise InputError(
            f"none of the {len(histories)} users has two items, one to recommend from and one to "
            "look for"
        )
    for chunk in _chunks(usable):
        begin = time.perf_counter()
        served = recommender.recommend(
            [items[:-1] for _, items in chunk],
            k,
            beam_width,
            exclude_history=exclude_history,
            unknown=unknown,
            errors="return",
            progress=progress,
        )
        result.seconds += time.perf_counter() - begin
        for (user, items), own in zip(chunk, served, strict=True):
            if isinstance(own, Recommendations):
                _count(result, user, items[-1], own, keep_rows)
            else:
                _count_failed(result, user, own)
                if progress is not None and isinstance(own, InputError):  # was in no batch
                    progress(1)
    return result


def _chunks(
    usable: Sequence[tuple[str, Sequence[ItemId]]],
) -> Iterator[Sequence[tuple[str, Sequence[ItemId]]]]:
    for begin in range(0, len(usable), _CHUNK):
        yield usable[begin : begin + _CHUNK]


def _count(
    result: Evaluation,
    user: str,
    target: ItemId,
    own: Recommendations,
    keep_rows: bool,
) -> None:
    result.users += 1
    ranked = [str(item.item_id) for item in own]
    if str(target) in ranked:
        result.hits += 1
        result.gain += 1 / log2(ranked.index(str(target)) + 2)
    result.beams += own.n_valid
    result.invalid += own.invalid
    if keep_rows:
        beams = own.beams()
        result.rows.append(
            {
                "user": user,
                "token_ids": [list(b.token_ids) for b in beams],
                "scores": [b.score for b in beams],
                "item_ids": [list(b.item_ids) for b in beams],
            }
        )


def _count_failed(result: Evaluation, user: str, error: InputError | RequestFailed) -> None:
    result.failed += 1
    if len(result.failures) < _NAMED:
        result.failures[user] = str(error)
