"""kv_append: a slot of every row is written anew, dead rows with what they hold."""

from __future__ import annotations

import torch
from torch import Tensor

from xgr.backends.ascend.aten.rows import Rows
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Numbers of the rows."""
    sizes = problem.sizes
    rows = Rows(context, sizes["R"], sizes["B"])

    def kv_append(
        *,
        k_new: Tensor,
        v_new: Tensor,
        row_start: Tensor,
        live: Tensor,
        k: Tensor,
        v: Tensor,
        step: int,
    ) -> None:
        """Slot `step` of every live row."""
        alive = rows.alive(rows.owner(row_start), row_start, live)[:, None, None]
        for new, cache in ((k_new, k), (v_new, v)):
            slot = cache[:, step]
            slot.copy_(torch.where(alive, new, slot))

    return kv_append
