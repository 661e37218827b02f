"""From beams on the device to items: paths read back, SIDs expanded, best first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from xgr.catalog import Catalogue, RequestFilter
from xgr.engine.config import EngineConfig
from xgr.engine.layout import Layout
from xgr.engine.request import ItemId, Request
from xgr.engine.state import Beams
from xgr.errors import RequestFailed
from xgr.ops.array import Array
from xgr.runtime import Runtime

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

    Outside the catalogue (unconstrained search) `codes` is None and `item_ids` is empty.
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
        invalid: of these, beams that are no SID of the catalogue (0 when constrained).
        normalize: what the log-probs are relative to.
        catalogue_version: the catalogue that answered.
    """

    def __init__(
        self,
        items: Sequence[Recommendation],
        beams: _Paths,
        normalize: str,
    ) -> None:
        self._items = tuple(items)
        self._paths = beams
        self.n_valid = beams.count
        self.invalid = beams.invalid
        self.normalize = normalize
        self.catalogue_version = beams.catalogue.version

    def beams(self) -> list[Beam]:
        """Every SID that the search ended with, best first."""
        return [self._paths.beam(at) for at in range(self.n_valid)]

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


class _Level:
    """Host copies of a level's beams."""

    def __init__(self, rt: Runtime, beams: Beams) -> None:
        self.parent = rt.fetch(beams.parent)
        self.code = rt.fetch(beams.code)
        self.node = rt.fetch(beams.node)
        self.score = rt.fetch(beams.score)
        self.live = rt.fetch(beams.live)


class Results:
    """Host copies of a batch's beams; `fetch` is where the host waits for the device."""

    def __init__(
        self,
        levels: Sequence[_Level],
        status: Any,
        layout: Layout,
        token_ids: Sequence[Sequence[int]],
        config: EngineConfig,
    ) -> None:
        self.levels, self.status, self.layout = levels, status, layout
        self.token_ids, self.config = token_ids, config

    @classmethod
    def fetch(
        cls,
        rt: Runtime,
        beams: Sequence[Beams],
        status: Array,
        layout: Layout,
        token_ids: Sequence[Sequence[int]],
        config: EngineConfig,
    ) -> Results:
        """Wait for a batch and copy its beams to the host."""
        levels = [_Level(rt, b) for b in beams]
        return cls(levels, rt.fetch(status), layout, token_ids, config)

    def outcome(
        self, at: int, request: Request, chosen: RequestFilter | None, catalogue: Catalogue
    ) -> Outcome:
        """The items of request `at`, or why the device refused it."""
        status = int(self.status[at])
        if status:
            why = "; ".join(text for bit, text in _STATUS.items() if status & bit)
            return RequestFailed(f"the request failed on the device: {why}")
        paths = _Paths(self, at, catalogue, chosen)
        positions, beams = catalogue.expand(
            paths.leaves, request.k, per_sid=request.per_sid, request_filter=chosen
        )
        items = []
        for position, beam in zip(positions.tolist(), beams.tolist(), strict=True):
            row = paths.legal[beam]
            scores, codes, tokens = paths.path(row)
            items.append(
                Recommendation(
                    item_id=catalogue.item_id(position),
                    score=paths.score(row),
                    codes=tuple(catalogue.codes(paths.leaves[beam : beam + 1])[0].tolist())
                    if codes is None
                    else codes,
                    token_ids=tokens,
                    level_scores=scores,
                    title=catalogue.title(position),
                )
            )
        return Recommendations(items, paths, self.config.normalize)


class _Paths:
    """Beams of one request, read back level by level."""

    def __init__(
        self, results: Results, at: int, catalogue: Catalogue, chosen: RequestFilter | None
    ) -> None:
        self._levels, self._token_ids = results.levels, results.token_ids
        self._depth = len(results.token_ids)
        self._constrained = results.config.constrained
        self._chosen, self.catalogue = chosen, catalogue
        self._first = results.layout.row_start[at]
        self.count = int(self._levels[-1].live[at])
        self._leaf_of_row = self._find_leaves()
        # rows that are SIDs of the catalogue, and their leaves
        self.legal = [row for row, leaf in enumerate(self._leaf_of_row) if leaf >= 0]
        self.leaves = [self._leaf_of_row[row] for row in self.legal]
        self.invalid = self.count - len(self.legal)

    def score(self, row: int) -> float:
        """Cumulative log-prob of the beam at a row of the last level."""
        return float(self._levels[-1].score[self._first + row])

    def path(self, row: int) -> tuple[tuple[float, ...], tuple[int, ...] | None, tuple[int, ...]]:
        """Log-prob of each decoded token, codes (None when unconstrained) and token ids."""
        rows = self._rows(row)
        cumulative = [float(level.score[r]) for level, r in zip(self._levels, rows, strict=True)]
        scores = [b - a for a, b in zip([0.0, *cumulative], cumulative, strict=False)]
        codes = tuple(
            int(level.code[r]) for level, r in zip(self._levels[: self._depth], rows, strict=False)
        )
        if not self._constrained:
            return tuple(scores), None, codes
        tokens = tuple(ids[c] for ids, c in zip(self._token_ids, codes, strict=True))
        return tuple(scores), codes, tokens

    def beam(self, row: int) -> Beam:
        """The SID at a row of the last level."""
        scores, codes, tokens = self.path(row)
        leaf = self._leaf_of_row[row]
        items: tuple[ItemId, ...] = ()
        if leaf >= 0:
            positions, _ = self.catalogue.expand(
                [leaf], self.catalogue.num_items, request_filter=self._chosen
            )
            items = tuple(self.catalogue.item_id(p) for p in positions.tolist())
            codes = codes or tuple(self.catalogue.codes([leaf])[0].tolist())
        return Beam(self.score(row), tokens, codes, scores, items)

    def _rows(self, row: int) -> list[int]:
        """Physical row of the beam's prefix at every level."""
        rows = [self._first + row]
        for level in self._levels[:0:-1]:
            rows.append(int(level.parent[rows[-1]]))
        return rows[::-1]

    def _find_leaves(self) -> list[int]:
        if not self._constrained:
            codes = [{token: code for code, token in enumerate(ids)} for ids in self._token_ids]
            tokens = [self.path(row)[2] for row in range(self.count)]
            rows = [[c.get(t, -1) for c, t in zip(codes, path, strict=True)] for path in tokens]
            found: list[int] = self.catalogue.find(rows).tolist() if rows else []
            return found
        level = self._levels[self._depth - 1]
        if self._depth == len(self._levels):
            last: list[int] = level.node[self._first : self._first + self.count].tolist()
            return last
        return [int(level.node[self._rows(row)[self._depth - 1]]) for row in range(self.count)]
