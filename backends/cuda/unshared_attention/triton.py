"""The unshared stage alone: the kernel of staged attention without a prompt."""

from __future__ import annotations

import torch

from xgr.backends.cuda.staged_attention.launch import Attention
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Choose tiles."""
    attention = Attention(problem, context)

    def launch(*, k: torch.Tensor, v: torch.Tensor, **arguments: object) -> None:
        attention(k_unshared=k, v_unshared=v, **arguments)  # type: ignore[arg-type]  # passed on

    return launch
