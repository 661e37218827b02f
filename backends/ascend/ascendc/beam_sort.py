"""beam_sort by beam_topk: two launches, a third for the order of rank."""

from __future__ import annotations

from typing import Any

import torch

from xgr.backends.ascend import _compat
from xgr.backends.ascend.ascendc.catalogue import level_arguments
from xgr.backends.ascend.ascendc.tiling import tiled
from xgr.ops.dtype import int64
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """The tiling and the candidates that cores keep."""
    topk = Topk(problem.sizes["C"], problem, context)

    def beam_sort(
        *,
        scores: Any,
        cumulative: Any,
        row_start: Any,
        live: Any,
        row_start_out: Any,
        out_width: Any,
        order: str,
        parent: Any,
        code: Any,
        score: Any,
        live_out: Any,
    ) -> None:
        """Keep the best candidates of each request."""
        topk.launch(
            scores=scores,
            cumulative=cumulative,
            row_start=row_start,
            live=live,
            row_start_out=row_start_out,
            out_width=out_width,
            node=None,
            **level_arguments(None, 0, scores.shape[1]),
            parent=parent,
            code=code,
            node_out=None,
            score=score,
            live_out=live_out,
            status=None,
        )

    return beam_sort


class Topk:
    """The kernel beam_topk, bound.

    Args:
        columns: candidates of a row.
        problem: with the sizes B, R and RO and the flag `order`.
        context: of the bind.
    """

    def __init__(self, columns: int, problem: Problem, context: Context) -> None:
        a = problem.sizes
        self._tiling = tiled(context, "beam_topk", B=a["B"], R=a["R"], C=columns, RO=a["RO"])
        room: Any = context.empty((self._tiling.workspace // 8 + 1,), int64)
        self._workspace = room.view(torch.uint8)
        self._ranked = problem.flag("order") == "rank"
        self._launch = _compat.operator("xgr_ascend::beam_topk")

    def launch(self, **arguments: Any) -> None:
        """Launch it with all arguments but those of the bind."""
        self._launch(
            **arguments,
            ranked=self._ranked,
            tiling=self._tiling.tiling,
            cores=self._tiling.cores,
            workspace=self._workspace,
        )
