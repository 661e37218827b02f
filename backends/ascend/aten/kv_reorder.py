"""kv_reorder: rows are gathered, then copied back."""

from __future__ import annotations

from torch import Tensor

from xgr.backends.ascend.aten.rows import Rows
from xgr.ops.kv_reorder import BAD_PARENT
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Numbers of the rows."""
    sizes = problem.sizes
    rows = Rows(context, sizes["R"], sizes["B"])

    def kv_reorder(
        *,
        k: Tensor,
        v: Tensor,
        parent: Tensor,
        row_start: Tensor,
        live: Tensor,
        status: Tensor,
        step: int,
    ) -> None:
        """Caches [L, R, S, G, d]: valid slots of live rows become their parent's."""
        _, source = rows.sound(parent, row_start, live, status, BAD_PARENT)
        if step == 0:
            return
        for cache in (k, v):
            valid = cache[:, :, :step]
            valid.copy_(valid.index_select(1, source))

    return kv_reorder
