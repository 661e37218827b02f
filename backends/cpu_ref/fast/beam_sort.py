"""beam_sort with early termination: rows are visited in rounds and left when they cannot win."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xgr.backends.cpu_ref.fast.selection import by_rank, cut, prune
from xgr.ops.beam_step import LEAST
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher

Tensor = NDArray[Any]
Index = NDArray[np.int64]

# above so many candidates a request, tiles are pruned by their maxima before anything is visited
WIDE = 1 << 18
# candidates a row in the first round; the blocks double
FIRST_BLOCK = 2


def space(problem: Problem, cores: int, arch: int) -> Sequence[Mapping[str, int]]:
    """First blocks of rounds, and pruning whatever the size."""
    rounds = [{"first_block": block, "wide": 1 << 62} for block in (1, 2, 4, 8, 16, 32)]
    return [*rounds, {"wide": 0}]


def build(problem: Problem, context: Context) -> Launcher:
    """A launcher that counts what it visits."""
    return BeamSort(**context.config)


class BeamSort:
    """The launcher.

    Args:
        wide: candidates of a request above which tiles are pruned.
        first_block: candidates a row in the first round.

    Attributes:
        visited: candidates that were looked at one by one since the last `reset`.
        candidates: candidates that there were since then.
    """

    def __init__(self, wide: int = WIDE, first_block: int = FIRST_BLOCK) -> None:
        self._wide, self._first_block = wide, first_block
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
        live_out.fill(0)
        widths = np.minimum(out_width, np.diff(row_start_out)).tolist()
        firsts, counts, targets = row_start.tolist(), live.tolist(), row_start_out.tolist()
        for request, width in enumerate(widths):
            first, target = firsts[request], targets[request]
            rows = slice(first, first + counts[request])
            parent[target : targets[request + 1]] = first
            total = cumulative[rows, None] + scores[rows]
            if width <= 0 or not total.max(initial=-np.inf) < np.inf:
                continue
            _clamp(total)
            self.candidates += int(np.count_nonzero(total > -np.inf))
            ranked = (
                self._pruned(total, width)
                if total.size > self._wide
                else self._rounds(total, width)
            )
            chosen = np.sort(ranked) if order == "path" else ranked
            target_rows = slice(target, target + len(chosen))
            row, code[target_rows] = np.divmod(chosen, max(total.shape[1], 1))
            parent[target_rows] = row + first
            score[target_rows] = total.reshape(-1)[chosen]
            live_out[request] = len(chosen)

    def _pruned(self, total: Tensor, width: int) -> Index:
        """The best of one request by rank, as flat indices; tiles that cannot win are left."""
        flat = total.reshape(-1)
        kept = prune(flat, width)
        if kept is None:
            kept = np.flatnonzero(flat > -np.inf)
        self.visited += len(kept)
        chosen = kept[cut(flat[kept], width)]
        return chosen[by_rank(flat[chosen])]

    def _rounds(self, total: Tensor, width: int) -> Index:
        """The same by rounds: the next block of each row is merged into the best so far.

        A row is left when its next candidate ranks behind the worst of `width` that are kept:
        what follows in the row ranks behind that one.
        """
        live = np.arange(len(total))
        rest = _keys(total)
        best_row, best_key = np.empty(0, np.int64), np.empty(0, np.int64)
        block = max(self._first_block, -(-width // max(len(total), 1)))
        while rest.size:
            size = min(block, rest.shape[1])
            if size < rest.shape[1]:
                # the block, and behind it the row's next candidate
                rest.partition((size - 1, size), axis=1)
            head = rest[:, :size]
            legal = head < ILLEGAL
            self.visited += int(np.count_nonzero(legal))
            row = np.broadcast_to(live[:, None], head.shape)
            best_row = np.concatenate((best_row, row[legal]))
            best_key = np.concatenate((best_key, head[legal]))
            rank = np.lexsort((best_key & CODE, best_row, best_key >> 32))[:width]
            best_row, best_key = best_row[rank], best_key[rank]

            rest = rest[:, size:]
            if rest.size:
                goes_on = _may_win(rest[:, 0], live, best_row, best_key, width)
                live, rest = live[goes_on], rest[goes_on]
            block *= 2
        chosen: Index = best_row * total.shape[1] + (best_key & CODE)
        return chosen


CODE = (1 << 32) - 1
# the key of -inf; all others are less
ILLEGAL = 0x7F800000 << 32


def _keys(total: Tensor) -> Index:
    """One number a candidate: ascending is score descending, then code ascending."""
    total += np.float32(0)  # -0 becomes +0: they are equal scores
    bits = total.view(np.int32)
    # the bits of negative floats run backwards
    key = np.bitwise_xor(bits, (bits >> 31) & 0x7FFFFFFF)
    keys: Index = np.invert(key, out=key).astype(np.int64)
    keys <<= 32
    keys |= np.arange(total.shape[1])
    return keys


def _may_win(
    upcoming: Index, live: Index, best_row: Index, best_key: Index, width: int
) -> NDArray[np.bool_]:
    """Rows whose next candidate ranks before the worst that is kept, or exists while some lack."""
    if len(best_key) < width:
        return upcoming < ILLEGAL
    score, worst = upcoming >> 32, best_key[-1] >> 32
    # of equal scores those of earlier rows rank first; its own row's are later codes
    wins: NDArray[np.bool_] = (score < worst) | ((score == worst) & (live < best_row[-1]))
    return wins


def _clamp(total: Tensor) -> None:
    """Raise finite scores to the least one; -inf stays what it is."""
    low = total < LEAST
    low &= total > -np.inf
    total[low] = LEAST
