"""linear: the library's matrix product through torch; the cube accumulates in float32."""

from __future__ import annotations

import torch
from torch import Tensor

from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare."""
    if 0 in problem.sizes.values():
        return _nothing

    def linear(*, x: Tensor, weight: Tensor, out: Tensor, bias: Tensor | None = None) -> None:
        if bias is None:
            torch.mm(x, weight.t(), out=out)
        else:
            torch.addmm(bias, x, weight.t(), out=out)

    return linear


def _nothing(**arguments: object) -> None:
    return
