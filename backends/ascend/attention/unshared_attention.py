"""unshared_attention: every row is a sequence of its own tokens."""

from __future__ import annotations

from torch import Tensor

from xgr.backends.ascend.aten.rows import Rows
from xgr.backends.ascend.attention.shared_attention import NO_SCORE
from xgr.backends.ascend.strides import need_dense
from xgr.backends.ascend.unshared import Unshared
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Gathered K/V where there are ancestors, numbers of the rows."""
    stage = Unshared(problem, context)
    rows = Rows(context, problem.sizes["R"], problem.sizes["B"])

    def unshared_attention(
        *,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        row_start: Tensor,
        live: Tensor,
        step: int,
        scale: float,
        out: Tensor,
        lse: Tensor,
        ancestors: Tensor | None = None,
        bias: None = None,
    ) -> None:
        need_dense("unshared_attention", "ascend.fia", q=q, k=k, v=v, out=out, lse=lse)
        if not step:
            out.zero_()
            lse.fill_(NO_SCORE)
            return
        alive = rows.alive(rows.owner(row_start), row_start, live)
        stage.launch(q, k, v, step, scale, ancestors, alive, out, lse)
        out.masked_fill_(~alive[:, None, None], 0)
        lse.masked_fill_(~alive[:, None], NO_SCORE)

    return unshared_attention
