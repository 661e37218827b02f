"""linear_add: cuBLAS through torch, which adds to its float32 sums before it rounds."""

from __future__ import annotations

import torch

from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher

# The float32 above 1. With a factor of 1, kernels of cuBLAS for sm_90 round their sums to 16 bits
# before they add, and then again: 1.06 to 1.42 times the error of one rounding was seen, by how
# large the residual is. What the factor makes of a number is far below the last of its 16 bits.
ABOVE_ONE = 1 + 2.0**-23


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare; torch takes strided rows as leading dimensions."""
    factor = 1.0 if problem.dtype == "float32" else ABOVE_ONE

    def linear_add(*, x: torch.Tensor, weight: torch.Tensor, residual: torch.Tensor) -> None:
        residual.addmm_(x, weight.t(), beta=factor)

    return linear_add
