# Triton's language has no types:
# mypy: disable-error-code="no-untyped-def,untyped-decorator"
"""rms_norm: a program a row, the row in registers."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from xgr.backends.cuda.strides import need_dense_rows
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """The block holds a whole row of h."""
    rows, size = problem.sizes["N"], problem.sizes["h"]
    block = triton.next_power_of_2(size)
    warps = min(max(block // 256, 1), 16)

    def rms_norm(
        *,
        x: torch.Tensor,
        weight: torch.Tensor,
        out: torch.Tensor,
        eps: float,
        residual: torch.Tensor | None = None,
    ) -> None:
        need_dense_rows("rms_norm", x=x, weight=weight, residual=residual, out=out)
        total = x if residual is None else residual
        _rms_norm[(rows,)](
            x, total, weight, out, x.stride(0), total.stride(0), out.stride(0), eps, size,
            ADD=residual is not None, BLOCK=block, num_warps=warps,
        )  # fmt: skip

    return rms_norm


@triton.jit
def _rms_norm(
    x, residual, weight, out, x_stride, residual_stride, out_stride, eps,
    SIZE: tl.constexpr, ADD: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    inside = at < SIZE
    gain = tl.load(weight + at, mask=inside, other=0).to(tl.float32)  # on its way with the row
    value = tl.load(x + row * x_stride + at, mask=inside, other=0).to(tl.float32)
    if ADD:
        place = residual + row * residual_stride + at
        value += tl.load(place, mask=inside, other=0).to(tl.float32)
        stored = value.to(residual.dtype.element_ty)
        tl.store(place, stored, mask=inside)
        value = stored.to(tl.float32)  # the norm is of what is stored
    scale = tl.rsqrt(tl.sum(value * value, axis=0) / SIZE + eps)
    result = value * scale * gain
    tl.store(out + row * out_stride + at, result.to(out.dtype.element_ty), mask=inside)
