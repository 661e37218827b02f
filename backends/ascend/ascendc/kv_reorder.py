"""kv_reorder of all layers in one launch, in place."""

from __future__ import annotations

from typing import Any

from xgr.backends.ascend import _compat
from xgr.backends.ascend.ascendc.tiling import tiled
from xgr.ops.dtype import dtype
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """The tiling of every step that there is."""
    a = problem.sizes
    sizes = {axis: a[axis] for axis in ("B", "L", "R", "S", "G", "d")}
    itemsize = dtype(problem.dtype).itemsize
    tilings = [
        tiled(context, "kv_reorder", **sizes, itemsize=itemsize, step=step)
        for step in range(a["S"] + 1)
    ]
    launch = _compat.operator("xgr_ascend::kv_reorder")

    def kv_reorder(
        *,
        k: Any,
        v: Any,
        parent: Any,
        row_start: Any,
        live: Any,
        status: Any,
        step: int,
    ) -> None:
        """Caches [L, R, S, G, d]: valid slots of live rows become their parent's."""
        tiling = tilings[step]
        launch(
            k=k,
            v=v,
            parent=parent,
            row_start=row_start,
            live=live,
            tiling=tiling.tiling,
            cores=tiling.cores,
            step=step,
            status=status,
        )

    return kv_reorder
