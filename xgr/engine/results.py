"""From beams on the device to items: paths read back, SIDs expanded, best first.

What is handed out holds plain values only: neither the batch's arrays nor the catalogue live on
with it, and it can be pickled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xgr.catalog import Catalogue, ItemId, RequestFilter
from xgr.engine.layout import Layout
from xgr.engine.request import Request
from xgr.engine.state import Found
from xgr.errors import RequestFailed

# items of one SID that a beam names: a SID may have millions
_NAMED = 1024

# bits of status, as the ops declare them
_STATUS = {1: "a logit of a legal code is NaN or +inf", 2: "beam parents are not sorted"}


@dataclass(frozen=True, slots=True)
class Recommendation:
    """An item that may come next.

    Attributes:
        item_id: its id in the catalogue.
        score: log-prob of its SID, the sum over the levels (and end tokens if scored).
        codes: SID as codes.
        token_ids: SID as token ids.
        level_scores: log-prob of each code (and end token) given those before.
        title: its title if the catalogue has one.
    """

    item_id: ItemId
    score: float
    codes: tuple[int, ...]
    token_ids: tuple[int, ...]
    level_scores: tuple[float, ...]
    title: str | None = None


@dataclass(frozen=True, slots=True)
class Beam:
    """A SID that the search ended with; `item_ids` in the catalogue's order, filters applied.

    Outside the catalogue (unconstrained search) `codes` is None and `item_ids` is empty. Of a SID
    that very many items share, `item_ids` has the first 1024.
    """

    score: float
    token_ids: tuple[int, ...]
    codes: tuple[int, ...] | None
    level_scores: tuple[float, ...]
    item_ids: tuple[ItemId, ...]


class Recommendations(Sequence[Recommendation]):
    """The items of one request, best first; at most k, fewer when fewer are legal.

    Attributes:
        n_valid: beams that the search ended with.
        invalid: of these, beams whose tokens spell no SID of the catalogue that answered.
        normalize: what the log-probs are relative to.
        catalogue_version: the catalogue that answered.
    """

    def __init__(
        self,
        items: Sequence[Recommendation],
        paths: _Paths,
        item_ids: Mapping[int, tuple[ItemId, ...]],
        spelling: Spelling,
    ) -> None:
        self._items = tuple(items)
        self._paths, self._item_ids = paths, item_ids
        self.n_valid = len(paths.token_ids)
        self.invalid = paths.codes.count(None)
        self.normalize = spelling.normalize
        self.catalogue_version = spelling.catalogue.version

    def beams(self) -> list[Beam]:
        """Every SID that the search ended with, best first."""
        paths = self._paths
        return [
            Beam(
                paths.cumulative[at][-1],
                tokens,
                paths.codes[at],
                paths.level_scores(at),
                self._item_ids.get(at, ()),
            )
            for at, tokens in enumerate(paths.token_ids)
        ]

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, index: Any, /) -> Any:
        return self._items[index]

    def __iter__(self) -> Iterator[Recommendation]:
        return iter(self._items)

    def __repr__(self) -> str:
        return f"Recommendations({list(self._items)!r})"


# a batch goes on when one of its requests fails
Outcome = Recommendations | RequestFailed


@dataclass(frozen=True, slots=True)
class Spelling:
    """What the codes of a batch mean.

    Attributes:
        catalogue: the one that the batch was launched with.
        token_ids: per level, the token of each code.
        codes: per level, the code of each token.
        constrained: the levels' columns are codes, not tokens.
        normalize: what the log-probs are relative to.
    """

    catalogue: Catalogue
    token_ids: Sequence[Sequence[int]]
    codes: Sequence[Mapping[int, int]]
    constrained: bool
    normalize: str


class Results:
    """The beams of a batch, on the host, and what they mean."""

    def __init__(self, found: Found, layout: Layout) -> None:
        self._found, self._layout = found, layout

    def outcome(
        self, at: int, request: Request, chosen: RequestFilter | None, spelling: Spelling
    ) -> Outcome:
        """The items of request `at`, or why the device refused it."""
        status = int(self._found.status[at])
        if status:
            why = "; ".join(text for bit, text in _STATUS.items() if status & bit)
            return RequestFailed(f"the request failed on the device: {why}")
        paths, leaves = self._paths(at, spelling)
        # rows that are SIDs of the catalogue, and their leaves
        legal = [row for row, leaf in enumerate(leaves) if leaf >= 0]
        found, catalogue = [leaves[row] for row in legal], spelling.catalogue
        positions, beams = catalogue.expand(
            found, request.k, per_sid=request.per_sid, request_filter=chosen
        )
        items = [
            Recommendation(
                item_id=catalogue.item_id(position),
                score=paths.cumulative[row][-1],
                codes=paths.codes[row] or (),
                token_ids=paths.token_ids[row],
                level_scores=paths.level_scores(row),
                title=catalogue.title(position),
            )
            for position, row in zip(
                positions.tolist(), [legal[b] for b in beams.tolist()], strict=True
            )
        ]
        every, beams = catalogue.expand(
            found, _NAMED * len(found), per_sid=_NAMED, request_filter=chosen
        )
        named: dict[int, list[ItemId]] = {}
        for position, beam in zip(every.tolist(), beams.tolist(), strict=True):
            named.setdefault(legal[beam], []).append(catalogue.item_id(position))
        item_ids = {row: tuple(ids) for row, ids in named.items()}
        return Recommendations(items, paths, item_ids, spelling)

    def _paths(self, at: int, spelling: Spelling) -> tuple[_Paths, list[int]]:
        """Beams of request `at`, read back level by level, and their leaves (-1 for none)."""
        found, first = self._found, self._layout.row_start[at]
        rows: Any = slice(first, first + int(found.live[at]))  # of the beams' prefixes
        columns, scores = [], []
        for level in reversed(range(len(found.parent))):
            columns.append(found.code[level][rows].tolist())
            scores.append(found.score[level][rows].tolist())
            rows = found.parent[level][rows]
        columns, scores = columns[::-1][: len(spelling.token_ids)], scores[::-1]
        if spelling.constrained:
            tokens = [
                [ids[code] for code in column]
                for ids, column in zip(spelling.token_ids, columns, strict=True)
            ]
        else:
            tokens = columns
            columns = [
                [codes.get(token, -1) for token in column]
                for codes, column in zip(spelling.codes, tokens, strict=True)
            ]
        spelt = list(zip(*columns, strict=True))
        # judged from what came out, not from what the search believes
        leaves: list[int] = spelling.catalogue.find(spelt).tolist() if spelt else []
        codes = [row if leaf >= 0 else None for row, leaf in zip(spelt, leaves, strict=True)]
        paths = _Paths(list(zip(*tokens, strict=True)), codes, list(zip(*scores, strict=True)))
        return paths, leaves


@dataclass(frozen=True, slots=True)
class _Paths:
    """Beams of one request, best first.

    Attributes:
        token_ids: of each beam's codes.
        codes: None where they are no SID of the catalogue.
        cumulative: log-prob after each decoded token.
    """

    token_ids: Sequence[tuple[int, ...]]
    codes: Sequence[tuple[int, ...] | None]
    cumulative: Sequence[tuple[float, ...]]

    def level_scores(self, row: int) -> tuple[float, ...]:
        """Log-prob of each decoded token of a beam."""
        after = self.cumulative[row]
        return tuple(b - a for a, b in zip((0.0, *after), after, strict=False))
