"""beam_ancestors: earlier tokens are the parent's, the rest are the row's own."""

from __future__ import annotations

import torch
from torch import Tensor

from xgr.backends.ascend.aten.rows import Rows
from xgr.ops.kv_reorder import BAD_PARENT
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Numbers of the rows."""
    sizes = problem.sizes
    rows = Rows(context, sizes["R"], sizes["B"])

    def beam_ancestors(
        *,
        ancestors: Tensor,
        parent: Tensor,
        row_start: Tensor,
        live: Tensor,
        out: Tensor,
        status: Tensor,
        step: int,
    ) -> None:
        """A row's earlier tokens are its parent's; its own and all other slots are in itself."""
        good, source = rows.sound(parent, row_start, live, status, BAD_PARENT)
        own = rows.number[:, None].expand(out.shape)
        out.copy_(own)
        if step:
            earlier = ancestors[:, :step].index_select(0, source)
            out[:, :step].copy_(torch.where(good[:, None], earlier, own[:, :step]))

    return beam_ancestors
