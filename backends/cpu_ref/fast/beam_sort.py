"""beam_sort with early termination: rows are visited in rounds and left when they cannot win."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from xgr.backends.cpu_ref.fast.selection import LEAST
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher

Tensor = NDArray[Any]


def build(problem: Problem, context: Context) -> Launcher:
    """A launcher that counts what it visits."""
    return BeamSort()


class BeamSort:
    """The launcher.

    Attributes:
        visited: candidates that were merged since the last `reset`.
        candidates: candidates that there were since then.
    """

    def __init__(self) -> None:
        self.visited = self.candidates = 0

    def reset(self) -> None:
        """Count from 0 again."""
        self.visited = self.candidates = 0

    @np.errstate(invalid="ignore", over="ignore")
    def __call__(
        self,
        *,
        scores: Tensor,
        cumulative: Tensor,
        row_start: Tensor,
        live: Tensor,
        row_start_out: Tensor,
        out_width: Tensor,
        order: str,
        parent: Tensor,
        code: Tensor,
        score: Tensor,
        live_out: Tensor,
    ) -> None:
        """Keep the best candidates of each request."""
        parent.fill(0)
        code.fill(0)
        score.fill(-np.inf)
        widths = np.minimum(out_width, np.diff(row_start_out)).tolist()
        for request, width in enumerate(widths):
            first, target = int(row_start[request]), int(row_start_out[request])
            rows = slice(first, first + int(live[request]))
            parent[target : int(row_start_out[request + 1])] = first
            live_out[request] = 0
            total = cumulative[rows, None] + scores[rows]
            if width <= 0 or not total.max(initial=-np.inf) < np.inf:
                continue
            # the least score goes to candidates only: -inf stays what it is
            np.maximum(total, LEAST, out=total, where=total > -np.inf)
            source, column, value = self._best(total, width)
            if order == "path":
                path = np.lexsort((column, source))
                source, column, value = source[path], column[path], value[path]
            target_rows = slice(target, target + len(value))
            parent[target_rows], code[target_rows] = source + first, column
            score[target_rows] = value
            live_out[request] = len(value)

    def _best(self, total: Tensor, width: int) -> tuple[Tensor, Tensor, Tensor]:
        """The best of one request by rank: row, column and score."""
        self.candidates += int(np.count_nonzero(total > -np.inf))
        rows = len(total)
        live = np.arange(rows)
        # one unsigned number a candidate: ascending is score descending, then code ascending
        rest = _keys(total)
        pool_row, pool_key = np.empty(0, np.int64), np.empty(0, np.uint64)
        block = max(4, -(-width // max(rows, 1)))
        while len(live) and rest.shape[1]:
            size = min(block, rest.shape[1])
            if size < rest.shape[1]:
                # the block, and behind it the row's next candidate
                rest.partition((size - 1, size), axis=1)
            head = rest[:, :size]
            legal = head < _ILLEGAL
            self.visited += int(np.count_nonzero(legal))
            pool_row = np.concatenate((pool_row, np.broadcast_to(live[:, None], head.shape)[legal]))
            pool_key = np.concatenate((pool_key, head[legal]))
            rank = np.lexsort((pool_key & _CODE, pool_row, pool_key >> _SHIFT))[:width]
            pool_row, pool_key = pool_row[rank], pool_key[rank]

            rest = rest[:, size:]
            if rest.shape[1]:
                goes_on = _may_win(rest[:, 0], live, pool_row, pool_key, width)
                live, rest = live[goes_on], rest[goes_on]
            block *= 2
        column = (pool_key & _CODE).astype(np.int64)
        return pool_row, column, total[pool_row, column]


_SHIFT = np.uint64(32)
_CODE = np.uint64(0xFFFFFFFF)
_SIGN = np.uint32(0x80000000)
# the key of -inf and everything behind it
_ILLEGAL = np.uint64(0xFF800000) << _SHIFT


def _keys(total: Tensor) -> NDArray[np.uint64]:
    bits = (total + np.float32(0)).view(np.uint32)  # -0 becomes +0: they are equal scores
    descending = np.where(bits & _SIGN, bits, ~(bits | _SIGN))
    return (descending.astype(np.uint64) << _SHIFT) | np.arange(total.shape[1], dtype=np.uint64)


def _may_win(
    upcoming: NDArray[np.uint64],
    live: Tensor,
    pool_row: Tensor,
    pool_key: NDArray[np.uint64],
    width: int,
) -> NDArray[np.bool_]:
    """Rows whose next candidate ranks before the worst that is kept, or all while some lack."""
    if len(pool_key) < width:
        return upcoming < _ILLEGAL
    worst, cut = pool_row[-1], pool_key[-1]
    ahead = (upcoming >> _SHIFT) < (cut >> _SHIFT)
    tied = (upcoming >> _SHIFT) == (cut >> _SHIFT)
    ahead |= tied & ((live < worst) | ((live == worst) & (upcoming < cut)))
    wins: NDArray[np.bool_] = ahead
    return wins
