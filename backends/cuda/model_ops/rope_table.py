# Triton's language has no types:
# mypy: disable-error-code="no-untyped-def,untyped-decorator"
"""rope_table: a program a position."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from xgr.backends.cuda.strides import need_dense_rows
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Positions and frequencies are fixed."""
    positions, size = problem.sizes["P"], problem.sizes["F"]
    block = triton.next_power_of_2(size)

    def rope_table(
        *, inv_freq: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, scaling: float
    ) -> None:
        need_dense_rows("rope_table", inv_freq=inv_freq, cos=cos, sin=sin)
        _rope_table[(positions,)](
            inv_freq, cos, sin, cos.stride(0), sin.stride(0), scaling, size, BLOCK=block,
            num_warps=1,
        )  # fmt: skip

    return rope_table


@triton.jit
def _rope_table(
    inv_freq, cos, sin, cos_stride, sin_stride, scaling, SIZE: tl.constexpr, BLOCK: tl.constexpr
):
    position = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < SIZE
    # rounded to float32, as the checkpoints were trained
    angle = position.to(tl.float32) * tl.load(inv_freq + at, mask=inside, other=0)
    row = position.to(tl.int64)
    tl.store(cos + row * cos_stride + at, tl.cos(angle) * scaling, mask=inside)
    tl.store(sin + row * sin_stride + at, tl.sin(angle) * scaling, mask=inside)
