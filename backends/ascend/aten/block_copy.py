"""block_copy: blocks are gathered, then written where they go."""

from __future__ import annotations

import torch
from torch import Tensor

from xgr.backends.ascend.aten.rows import Rows
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Numbers of the pairs."""
    pairs = Rows(context, problem.sizes["N"], 1)

    def block_copy(*, k: Tensor, v: Tensor, source: Tensor, target: Tensor) -> None:
        """Pools [L, NP, BT, G, d]; no block is both read and written."""
        # a pair that is none does again what the last one does, or copies block 0 to itself
        at, some = pairs.repeated(target >= 0)
        begin = source.index_select(0, at).masked_fill_(~some, 0)
        end = target.index_select(0, at).masked_fill_(~some, 0).to(torch.int64)
        for pool in (k, v):
            pool.index_copy_(1, end, pool.index_select(1, begin))

    return block_copy
