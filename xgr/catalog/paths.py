"""What a search ended with, read back on the host: paths of codes, their tokens and scores.

All beams of a batch at once: a batch of 16 users of 512 beams is 8192 paths, far too many for
Python to touch one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.integer[Any]]
Doubles = npt.NDArray[np.float64]


def read_paths(
    parent: Sequence[Ints],
    code: Sequence[Ints],
    node: Sequence[Ints],
    score: Sequence[npt.NDArray[np.float32]],
    first: Sequence[int],
    count: Ints,
) -> tuple[Ints, Ints, Doubles]:
    """Follow the beams of the last level back to the first.

    Args:
        parent: [R] a level, the row of the level before.
        code: [R] a level, the column.
        node: [R] a level, the trie node.
        score: [R] a level, the cumulative log-prob.
        first: [B], each request's first beam in the last level.
        count: [B], its beams there.

    Returns:
        columns int [n, levels], nodes and scores float64 alike, request after request.
    """
    # few and whole operations: behind a wait for the device each takes microseconds
    ends = np.cumsum(count)
    rows = np.arange(ends[-1])
    if len(count) > 1:
        rows += np.repeat(np.asarray(first) - (ends - count), count)
    columns = np.empty((len(code), len(rows)), code[0].dtype)
    nodes, scores = np.empty_like(columns), np.empty(columns.shape, np.float32)
    for level in reversed(range(len(code))):
        code[level].take(rows, out=columns[level])
        node[level].take(rows, out=nodes[level])
        score[level].take(rows, out=scores[level])
        if level:
            rows = parent[level].take(rows)
    return columns.T.astype(np.int64), nodes.T.astype(np.int64), scores.T.astype(np.float64)


class Spellings:
    """The token of each code of each level, and the reverse.

    Args:
        token_ids: per level, the token id of each code.
    """

    def __init__(self, token_ids: Sequence[Sequence[int]]) -> None:
        self._tokens = [np.asarray(ids, np.int64) for ids in token_ids]
        self._order = [np.argsort(tokens) for tokens in self._tokens]

    def tokens(self, codes: Ints) -> Ints:
        """Token ids of codes, [n, D]."""
        found = np.empty(codes.shape, np.int64, order="F")
        for at, tokens in enumerate(self._tokens):
            found[:, at] = tokens[codes[:, at]]
        return found

    def codes(self, tokens: Ints) -> Ints:
        """Codes of token ids, [n, D]; -1 for a token that spells no code of its level."""
        columns = []
        for at, (known, order) in enumerate(zip(self._tokens, self._order, strict=True)):
            place = np.searchsorted(known, tokens[:, at], sorter=order)
            code = order[np.minimum(place, len(order) - 1)]
            columns.append(np.where(known[code] == tokens[:, at], code, -1))
        return np.stack(columns, axis=1)


@dataclass(frozen=True, slots=True)
class Paths:
    """Beams of one request, best first.

    Attributes:
        token_ids, codes: int [n, D].
        leaves: int64 [n], the SID of each beam, -1 where the catalogue has none.
        scores: float64 [n, levels], log-prob after each decoded token.
    """

    token_ids: Ints
    codes: Ints
    leaves: Ints
    scores: Doubles

    def of(self, begin: int, end: int) -> Paths:
        """Some of the beams, in memory of their own."""
        part = slice(begin, end)
        return Paths(
            self.token_ids[part].copy(),
            self.codes[part].copy(),
            self.leaves[part].copy(),
            self.scores[part].copy(),
        )

    @property
    def legal(self) -> Ints:
        """Beams that are SIDs of the catalogue."""
        return np.flatnonzero(self.leaves >= 0)

    def rows(self, chosen: Any) -> list[tuple[float, tuple[int, ...], Any, tuple[float, ...]]]:
        """Score, token ids, codes (None for no SID) and score of each level of chosen beams."""
        scores, legal = self.scores[chosen], (self.leaves[chosen] >= 0).tolist()
        levels = np.diff(scores, axis=1, prepend=0.0).tolist()
        tokens, codes = self.token_ids[chosen].tolist(), self.codes[chosen].tolist()
        return [
            (score, tuple(token), tuple(code) if known else None, tuple(level))
            for score, token, code, known, level in zip(
                scores[:, -1].tolist(), tokens, codes, legal, levels, strict=True
            )
        ]
