"""linear_logits: cuBLAS through torch, which writes its float32 sums as they are."""

from __future__ import annotations

import torch

from xgr.backends.cuda.device import interpreting
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare; torch takes strided rows as leading dimensions."""
    if problem.dtype == "float32":
        return _same
    return _widened if interpreting() else _wide


def _same(*, hidden: torch.Tensor, head: torch.Tensor, logits: torch.Tensor) -> None:
    torch.mm(hidden, head.t(), out=logits)


def _wide(*, hidden: torch.Tensor, head: torch.Tensor, logits: torch.Tensor) -> None:
    torch.mm(hidden, head.t(), torch.float32, out=logits)


def _widened(*, hidden: torch.Tensor, head: torch.Tensor, logits: torch.Tensor) -> None:
    torch.mm(hidden.float(), head.float().t(), out=logits)  # torch's CPU has no such product
