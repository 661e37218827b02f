"""linear_lse: logits of a part of the head at a time, and the merge of the parts' sums."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from xgr.backends.ascend.model_ops.linear_logits import product
from xgr.backends.ascend.stages import lse_parts
from xgr.ops.dtype import float32
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Workspace: logits of a part, float32 [R * columns], and of each part its sums [R, parts]."""
    rows, vocab = problem.sizes["R"], problem.sizes["V"]
    columns, parts = lse_parts(rows, vocab)
    logits: Any = context.empty((rows * columns,), float32)
    sums: Any = context.empty((rows, parts), float32)

    def linear_lse(*, hidden: Tensor, head: Tensor, lse: Tensor) -> None:
        for at in range(parts):
            some = head[at * columns : (at + 1) * columns]
            part = logits[: rows * some.shape[0]].view(rows, some.shape[0])
            product(hidden, some, part)
            sums[:, at].copy_(torch.logsumexp(part, 1))
        lse.copy_(torch.logsumexp(sums, 1) if parts > 1 else sums[:, 0])

    return linear_lse
