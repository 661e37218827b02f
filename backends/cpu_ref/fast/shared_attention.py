"""Shared stage: a stacked product per request, the query heads of a group folded into its rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xgr.backends.cpu_ref.fast.softmax import exponentials
from xgr.backends.cpu_ref.rows import dead_rows, live_rows
from xgr.backends.cpu_ref.scratch import Array, Scratch, scaled
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Bind to a problem."""
    return _SharedAttention(problem)


class _SharedAttention:
    def __init__(self, problem: Problem) -> None:
        self._scratch = Scratch()
        self._heads, self._size = problem.sizes["H"], problem.sizes["d"]

    def plan(
        self, prompt_start: Sequence[int], prompt_len: Sequence[int], widths: Sequence[int]
    ) -> None:
        """Grow the workspaces to the batch's greatest request, off the critical path."""
        queries = self._heads * max(widths, default=0)
        self._scratch("queries", (queries * self._size,))
        self._scratch("products", (queries * self._size,))
        pairs = (n * w for n, w in zip(prompt_len, widths, strict=True))
        self._scratch("scores", (self._heads * max(pairs, default=0),))

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
        groups = k.shape[1]
        prompts = zip(prompt_start.tolist(), prompt_len.tolist(), strict=True)
        for rows, (start, length) in zip(live_rows(row_start, live), prompts, strict=True):
            if length == 0:
                out[rows], lse[rows] = 0, -np.inf
            elif rows.start < rows.stop:
                keys = slice(start, start + length)
                self._request(q[rows], k[keys], v[keys], scale, out[rows], lse[rows], groups)
        for rows in dead_rows(row_start, live, q.shape[0]):
            out[rows], lse[rows] = 0, -np.inf

    def _request(
        self, q: Array, k: Array, v: Array, scale: float, out: Array, lse: Array, groups: int
    ) -> None:
        scratch = self._scratch
        (width, heads, size), length = q.shape, k.shape[0]
        fold = (width, groups, heads // groups)
        folded = (groups, width * fold[2])
        queries = scratch("queries", (*folded, size))
        unfolded = (groups, width, fold[2], size)
        scaled(
            q.reshape(*fold, size),
            scale,
            queries.reshape(unfolded).transpose(1, 0, 2, 3),
        )
        k, v = scratch.float32("k", k), scratch.float32("v", v)
        scores = scratch("scores", (*folded, length))
        np.matmul(queries, k.transpose(1, 2, 0), out=scores)
        greatest, total = exponentials(scores)
        products = np.matmul(scores, v.transpose(1, 0, 2), out=queries)
        inverse = np.reciprocal(total).reshape(*unfolded[:3], 1).transpose(1, 0, 2, 3)
        scaled(products.reshape(unfolded).transpose(1, 0, 2, 3), inverse, out.reshape(*fold, size))
        np.log(total, out=total)
        total += greatest
        lse.reshape(fold)[...] = total.reshape(unfolded[:3]).transpose(1, 0, 2)
