"""beam_sort with early termination: what is in a tile whose maximum cannot win is not visited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xgr.backends.cpu_ref.fast.selection import TILES, by_rank, cut, prune
from xgr.ops.beam_step import LEAST
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher

Tensor = NDArray[Any]
Index = NDArray[np.int64]


def space(problem: Problem, cores: int, arch: int) -> Sequence[Mapping[str, int]]:
    """Numbers of tiles worth measuring."""
    return [{"tiles": tiles} for tiles in (1, 2, 4, 8, 16)]


def build(problem: Problem, context: Context) -> Launcher:
    """A launcher that counts what it visits."""
    return BeamSort(**context.config)


class BeamSort:
    """The launcher.

    Args:
        tiles: tiles for each candidate that is wanted.

    Attributes:
        visited: candidates that were looked at one by one since the last `reset`, beyond the
            maxima of the tiles.
        candidates: candidates that there were since then.
    """

    def __init__(self, tiles: int = TILES) -> None:
        self._tiles = tiles
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
            ranked = self._best(total.reshape(-1), width)
            chosen = np.sort(ranked) if order == "path" else ranked
            target_rows = slice(target, target + len(chosen))
            row, code[target_rows] = np.divmod(chosen, max(total.shape[1], 1))
            parent[target_rows] = row + first
            score[target_rows] = total.reshape(-1)[chosen]
            live_out[request] = len(chosen)

    def _best(self, flat: Tensor, width: int) -> Index:
        """Indices of the best of one request, by rank."""
        kept = prune(flat, width, self._tiles)
        if kept is None:
            kept = np.flatnonzero(flat > -np.inf)
        self.visited += len(kept)
        chosen = kept[cut(flat[kept], width)]
        return chosen[by_rank(flat[chosen])]


def _clamp(total: Tensor) -> None:
    """Raise finite scores to the least one; -inf stays what it is."""
    low = total < LEAST
    low &= total > -np.inf
    total[low] = LEAST
