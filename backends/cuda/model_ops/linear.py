"""linear: cuBLAS through torch; sums are in float32, without TF32 (see the backend)."""

from __future__ import annotations

import torch

from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare; torch takes strided rows as leading dimensions."""

    def linear(
        *,
        x: torch.Tensor,
        weight: torch.Tensor,
        out: torch.Tensor,
        bias: torch.Tensor | None = None,
    ) -> None:
        if bias is None:
            torch.mm(x, weight.t(), out=out)
        else:
            torch.addmm(bias, x, weight.t(), out=out)

    return linear
