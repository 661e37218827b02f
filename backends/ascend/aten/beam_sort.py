"""beam_sort by stable sorts."""

from __future__ import annotations

import torch
from torch import Tensor

from xgr.backends.ascend.aten.rows import Rows
from xgr.backends.ascend.aten.selection import Selection, clamped, not_numbers
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Numbers of the rows."""
    sizes = problem.sizes
    rows = Rows(context, sizes["R"], sizes["B"])
    ranked = problem.flag("order") == "rank"
    selection = Selection(context, rows, sizes["C"], sizes["RO"], ranked)

    def beam_sort(
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
        owner = rows.owner(row_start)
        alive = rows.alive(owner, row_start, live)
        total = cumulative[:, None] + scores
        legal = (total != -torch.inf) & alive[:, None]
        failed = (rows.of_request(owner) & not_numbers(total, legal)).any(1)
        # what is NaN is of a request that failed
        legal = legal & (total < torch.inf)
        chosen = selection.choose(
            clamped(total, legal), failed, owner, row_start, row_start_out, out_width
        )
        parent.copy_(torch.where(chosen.alive, chosen.row.to(torch.int32), chosen.first))
        code.copy_(chosen.column.masked_fill(~chosen.alive, 0))
        score.copy_(chosen.score)
        live_out.copy_(chosen.live)

    return beam_sort
