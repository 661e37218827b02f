"""linear_logits: a matrix product that is written as it is accumulated, in float32."""

from __future__ import annotations

import torch
from torch import Tensor

from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare."""
    empty = 0 in problem.sizes.values()

    def linear_logits(*, hidden: Tensor, head: Tensor, logits: Tensor) -> None:
        if not empty:
            product(hidden, head, logits)

    return linear_logits


def product(hidden: Tensor, head: Tensor, logits: Tensor) -> None:
    """logits[r] = head . hidden[r], float32 [R, K], of hidden [R, h] and head [K, h]."""
    if hidden.dtype == torch.float32:
        torch.mm(hidden, head.t(), out=logits)
    else:
        torch.mm(hidden, head.t(), out_dtype=torch.float32, out=logits)
