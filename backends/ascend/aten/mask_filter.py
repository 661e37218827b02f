"""mask_filter: legal children are scattered into rows of -inf."""

from __future__ import annotations

import torch
from torch import Tensor

from xgr.backends.ascend.aten.children import Catalogue
from xgr.backends.ascend.aten.rows import Rows
from xgr.backends.ascend.aten.swaps import Swaps
from xgr.ops.array import Filters, Trie
from xgr.ops.beam_step import LEAST
from xgr.ops.dtype import float32
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """A row of scores with one column more, where what is not legal goes."""
    sizes = problem.sizes
    rows = Rows(context, sizes["R"], sizes["B"])
    columns = sizes["K"]
    catalogue = Catalogue(context, rows, columns)
    swaps = Swaps()
    wide: Tensor = context.empty((sizes["R"], columns + 1), float32)  # type: ignore[assignment]

    def mask_filter(
        *,
        scores: Tensor,
        node: Tensor,
        row_start: Tensor,
        live: Tensor,
        trie: Trie,
        level: int,
        out: Tensor,
        filters: Filters | None = None,
    ) -> None:
        """Copy the scores of legal children, at least -1e30; all else is -inf."""
        owner = rows.owner(row_start)
        alive = rows.alive(owner, row_start, live)
        swaps.follow(trie)
        children = catalogue.children(trie, level, node, alive)
        legal = children.legal
        if filters is not None:
            legal = legal & catalogue.kept(children, filters, level, owner)
        value = scores.gather(1, children.code).clamp_min(LEAST)
        wide.fill_(-torch.inf)
        wide.scatter_(1, children.code.masked_fill(~legal, columns), value)
        out.copy_(wide[:, :columns])

    return mask_filter
