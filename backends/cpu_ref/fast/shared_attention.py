"""Shared stage: the rows of a request are the queries, its prompt the keys."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xgr.backends.cpu_ref.fast.attend import BLOCK, attend
from xgr.backends.cpu_ref.rows import dead_rows, live_rows
from xgr.backends.cpu_ref.scratch import Array, Scratch
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Bind to a problem."""
    return _SharedAttention(problem)


class _SharedAttention:
    def __init__(self, problem: Problem) -> None:
        self._scratch = Scratch()
        self._heads = problem.sizes["H"]

    def plan(
        self, prompt_start: Sequence[int], prompt_len: Sequence[int], widths: Sequence[int]
    ) -> None:
        """Grow the greatest workspace off the critical path.

        The bounds themselves are read at every launch: lists that were kept could be of another
        batch than the arrays.
        """
        rows = min(BLOCK, max(widths, default=0))
        self._scratch("scores", (self._heads * rows * max(prompt_len, default=0),))

    @np.errstate(all="ignore")  # a NaN is the caller's, and flows
    def __call__(
        self,
        *,
        q: Array,
        k: Array,
        v: Array,
        prompt_start: Array,
        prompt_len: Array,
        row_start: Array,
        live: Array,
        scale: float,
        out: Array,
        lse: Array,
    ) -> None:
        prompts = zip(prompt_start.tolist(), prompt_len.tolist(), strict=True)
        for rows, (start, length) in zip(live_rows(row_start, live), prompts, strict=True):
            if length == 0:
                out[rows], lse[rows] = 0, -np.inf
            else:
                keys = slice(start, start + length)
                attend(self._scratch, q[rows], k[keys], v[keys], scale, out[rows], lse[rows])
        for rows in dead_rows(row_start, live, q.shape[0]):
            out[rows], lse[rows] = 0, -np.inf
