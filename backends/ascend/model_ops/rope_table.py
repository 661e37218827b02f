"""rope_table: cosines and sines of every position, once at load."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from xgr.ops.dtype import float32
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Workspace: the positions as float32 [P, 1]."""
    positions: Any = context.empty((problem.sizes["P"], 1), float32)
    positions.copy_(torch.arange(problem.sizes["P"], dtype=torch.float32)[:, None])

    def rope_table(*, inv_freq: Tensor, cos: Tensor, sin: Tensor, scaling: float) -> None:
        angle = positions * inv_freq
        cos.copy_(angle.cos() * scaling)
        sin.copy_(angle.sin() * scaling)

    return rope_table
