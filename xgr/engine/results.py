"""From beams on the device to items: paths read back, SIDs expanded, best first.

What is handed out holds plain values only: neither the batch's arrays nor the catalogue live on
with it, and it can be pickled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from xgr.catalog import Catalogue, ItemId, RequestFilter
from xgr.catalog.paths import Paths, Spellings, read_paths
from xgr.engine.config import EngineConfig
from xgr.engine.layout import Layout
from xgr.engine.request import Request
from xgr.engine.state import Found
from xgr.errors import RequestFailed

# items of one SID that a beam names: a SID may have millions
_NAMED = 1024

# bits of status, as the ops declare them
_STATUS = {
    1: "a logit of a legal code is NaN or +inf",
    2: "beam parents are not sorted",
    4: "more beams than the device's kernel sorts at once: ask for fewer, or name another kernel",
}


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

    Items and beams become objects when they are asked for.

    Attributes:
        item_ids: id of each item.
        n_valid: beams that the search ended with.
        invalid: of these, beams whose tokens spell no SID of the catalogue that answered.
        normalize: what the log-probs are relative to.
        catalogue_version: the catalogue that answered.
    """

    def __init__(
        self, paths: Paths, items: _Items, named: _Items, normalize: str, catalogue_version: str
    ) -> None:
        self._paths, self._chosen, self._named = paths, items, named
        self.item_ids = items.ids
        self.n_valid = len(paths.leaves)
        self.invalid = self.n_valid - len(paths.legal)
        self.normalize, self.catalogue_version = normalize, catalogue_version

    def beams(self) -> list[Beam]:
        """Every SID that the search ended with, best first."""
        named: dict[int, list[ItemId]] = {}
        for item_id, beam in zip(self._named.ids, self._named.beams, strict=True):
            named.setdefault(beam, []).append(item_id)
        return [
            Beam(score, tokens, codes, levels, tuple(named.get(at, ())))
            for at, (score, tokens, codes, levels) in enumerate(self._paths.rows(slice(None)))
        ]

    @cached_property
    def _items(self) -> tuple[Recommendation, ...]:
        chosen = self._chosen
        titles = chosen.titles or [None] * len(chosen.ids)
        return tuple(
            Recommendation(item_id, score, codes or (), tokens, levels, title)
            for item_id, title, (score, tokens, codes, levels) in zip(
                chosen.ids, titles, self._paths.rows(chosen.beams), strict=True
            )
        )

    def __len__(self) -> int:
        return len(self.item_ids)

    def __getitem__(self, index: Any, /) -> Any:
        return self._items[index]

    def __iter__(self) -> Iterator[Recommendation]:
        return iter(self._items)

    def __repr__(self) -> str:
        return f"Recommendations({list(self._items)!r})"


# a batch goes on when one of its requests fails
Outcome = Recommendations | RequestFailed


class Results:
    """The beams of a batch, on the host, and what they mean.

    Args:
        found: what came off the device.
        layout: the batch's.
        catalogue: the one that the batch was launched with.
        spellings: the tokens of the levels' codes.
        config: whether the levels' columns are codes or tokens, and the normalisation.
    """

    def __init__(
        self,
        found: Found,
        layout: Layout,
        catalogue: Catalogue,
        spellings: Spellings,
        config: EngineConfig,
    ) -> None:
        self._status, self._catalogue, self._config = found.status, catalogue, config
        count = found.live[: layout.count]
        first = layout.row_start[: layout.count]
        columns, nodes, scores = read_paths(
            found.parent, found.code, found.node, found.score, first, count
        )
        columns = columns[:, : catalogue.depth]
        # judged from the codes that came out: what the search believes is checked, to save a search
        if config.constrained:
            tokens, codes = spellings.tokens(columns), columns
            leaves = catalogue.find(codes, nodes[:, : catalogue.depth])
        else:
            tokens, codes = columns, spellings.codes(columns)
            leaves = catalogue.find(codes)
        self._paths = Paths(tokens, codes, leaves, scores)
        self._ends = [0, *count.cumsum().tolist()]

    def outcome(self, at: int, request: Request, chosen: RequestFilter | None) -> Outcome:
        """The items of request `at`, or why the device refused it."""
        status = int(self._status[at])
        if status:
            why = "; ".join(text for bit, text in _STATUS.items() if status & bit)
            return RequestFailed(f"the request failed on the device: {why}")
        paths, catalogue = self._paths.of(self._ends[at], self._ends[at + 1]), self._catalogue
        legal = paths.legal
        leaves = paths.leaves[legal]

        def expand(most: int, per_sid: int | None) -> tuple[_Items, Any]:
            positions, beams = catalogue.expand(
                leaves, most, per_sid=per_sid, request_filter=chosen
            )
            return _Items(catalogue.item_ids_at(positions), legal[beams].tolist()), positions

        named, positions = expand(_NAMED * len(leaves), _NAMED)
        if request.per_sid is None and request.k <= _NAMED:
            items = named.first(request.k)  # no SID is cut before its k-th item
        else:
            items, positions = expand(request.k, request.per_sid)
        items = replace(items, titles=catalogue.titles_at(positions[: len(items.ids)]))
        return Recommendations(paths, items, named, self._config.normalize, catalogue.version)


@dataclass(frozen=True, slots=True)
class _Items:
    """Ids of items, the beam that each is of, and titles where the catalogue has some."""

    ids: list[ItemId]
    beams: list[int]
    titles: list[str | None] | None = None

    def first(self, count: int) -> _Items:
        """Some of them, without titles."""
        return _Items(self.ids[:count], self.beams[:count])
