"""mask_filter in one launch."""

from __future__ import annotations

from typing import Any

from xgr.backends.ascend import _compat
from xgr.backends.ascend.ascendc.catalogue import filter_arguments, level_arguments
from xgr.backends.ascend.ascendc.tiling import tiled
from xgr.ops.array import Filters, Trie
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher

# how the kernel takes `normalize`
NORMALIZE = {"none": 0, "vocab": 1, "level": 2, "children": 3}


def build(problem: Problem, context: Context) -> Launcher:
    """The tiling."""
    mask = Mask(problem, context)

    def mask_filter(
        *,
        scores: Any,
        node: Any,
        row_start: Any,
        live: Any,
        trie: Trie,
        level: int,
        out: Any,
        filters: Filters | None = None,
    ) -> None:
        """Copy the scores of legal children, at least -1e30; all else is -inf."""
        mask.launch(
            scores=scores,
            lse=None,
            normalize=NORMALIZE["none"],
            node=node,
            row_start=row_start,
            live=live,
            **level_arguments(trie, level, scores.shape[1]),
            **filter_arguments(trie, filters, level),
            out=out,
        )

    return mask_filter


class Mask:
    """The kernel mask_filter, bound.

    Args:
        problem: with the sizes B, R and K.
        context: of the bind.
    """

    def __init__(self, problem: Problem, context: Context) -> None:
        a = problem.sizes
        self._tiling = tiled(context, "mask_filter", B=a["B"], R=a["R"], K=a["K"])
        self._launch = _compat.operator("xgr_ascend::mask_filter")

    def launch(self, **arguments: Any) -> None:
        """Launch it with all arguments but those of the bind."""
        self._launch(**arguments, tiling=self._tiling.tiling, cores=self._tiling.cores)
