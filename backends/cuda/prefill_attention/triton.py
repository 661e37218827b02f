"""Prefill attention in Triton."""

from __future__ import annotations

from typing import Any

import torch

from xgr.backends.cuda.device import architecture, multiprocessors
from xgr.backends.cuda.prefill_attention.buckets import bucket_table
from xgr.backends.cuda.prefill_attention.kernel import prefill_kernel
from xgr.backends.cuda.prefill_attention.tiles import choose
from xgr.backends.cuda.staged_attention.launch import (
    LOG2_E,
    constants,
    grid,
    positive,
    strides,
    workspaces,
)
from xgr.ops.dtype import int32
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Choose tiles and allocate the workspaces of split prompts."""
    return Prefill(problem, context)


class Prefill:
    """`prefill_kernel` bound to a problem."""

    def __init__(self, problem: Problem, context: Context) -> None:
        a, causal = problem.sizes, bool(problem.flag("causal"))
        self._rows, self._requests = a["N"], a["B"]
        tiles, fold = choose(problem, multiprocessors(), architecture(), context.config)
        self._grid = grid(problem, tiles)
        self._workspaces = workspaces(problem, context, tiles)
        # of a bias that tells later keys from earlier ones, the upper half is for later ones
        later = 0 if causal else a.get("NB", 0) // 2
        self._buckets = a.get("NB", 0) - later
        self._table: Any = context.empty((a["T"],), int32) if problem.flag("bias") else None
        self._max_distance: int | None = None
        self._constants = {
            **constants(problem, tiles), "CAUSAL": causal, "LATER": later, "FOLD": fold,
        }  # fmt: skip

    def __call__(
        self,
        *,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        q_start: torch.Tensor,
        prompt_start: torch.Tensor,
        prompt_len: torch.Tensor,
        causal: bool,
        max_distance: int,
        scale: float,
        out: torch.Tensor,
        bias: torch.Tensor | None = None,
    ) -> None:
        """Launch on the current stream; the first launch with a bias uploads the buckets."""
        if bias is not None and max_distance != self._max_distance:
            table = bucket_table(self._table.shape[0], self._buckets, max_distance)
            self._table.copy_(torch.from_numpy(table))
            self._max_distance = max_distance
        prefill_kernel[self._grid](
            q, k, v, bias, self._table, q_start, prompt_start, prompt_len,
            out, *self._workspaces,
            self._rows, self._requests, positive(scale) * LOG2_E,
            strides("q", q), strides("k", k), strides("v", v), strides("bias", bias),
            strides("out", out),
            **self._constants,
        )  # fmt: skip
