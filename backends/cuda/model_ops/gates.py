# Triton's language has no types:
# mypy: disable-error-code="no-untyped-def,untyped-decorator"
"""Gated activations of a fused projection [gate | up]."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from xgr.backends.cuda.model_ops.norm_behind import (
    inverse_rms,
    load_row,
    reads_again,
    row_stride,
)
from xgr.backends.cuda.strides import need_dense_rows
from xgr.ops.spec import Problem
from xgr.registry.kernel import Launcher


def build_gate(problem: Problem, gelu: bool) -> Launcher:
    """Launcher of swiglu, normed_swiglu or gelu_gated."""
    rows, size = problem.sizes["N"], problem.sizes["I"]
    width = problem.sizes.get("h", 0)
    most, warps = (4096, 8) if width and reads_again(problem) else (1024, 4)
    block = min(triton.next_power_of_2(size), most)
    grid = (rows, triton.cdiv(size, block))

    def gated(
        *,
        gate_up: torch.Tensor,
        out: torch.Tensor,
        hidden: torch.Tensor | None = None,
        eps: float = 0,
    ) -> None:
        need_dense_rows(problem.op, gate_up=gate_up, hidden=hidden, out=out)
        _gated[grid](
            gate_up, hidden, out, gate_up.stride(0), row_stride(hidden), out.stride(0), eps, size,
            GELU=gelu, BLOCK=block, h=width, BLOCK_N=triton.next_power_of_2(width),
            num_warps=warps,
        )  # fmt: skip

    return gated


@triton.jit
def _gated(
    gate_up, hidden, out, in_stride, hidden_stride, out_stride, eps,
    SIZE: tl.constexpr, GELU: tl.constexpr, BLOCK: tl.constexpr,
    h: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = at < SIZE
    gate = tl.load(gate_up + row * in_stride + at, mask=inside, other=0).to(tl.float32)
    up = tl.load(gate_up + row * in_stride + SIZE + at, mask=inside, other=0).to(tl.float32)
    if h > 0:
        scale = inverse_rms(load_row(hidden, row * hidden_stride, h, BLOCK_N), eps, h)
        gate, up = gate * scale, up * scale
    inner = gate
    if GELU:
        # (1 + tanh(y)) / 2 = sigmoid(2 y), y = sqrt(2 / pi) (gate + 0.044715 gate^3)
        inner = 1.5957691216057308 * gate * (1 + 0.044715 * gate * gate)
    result = gate / (1 + tl.exp(-inner)) * up
    tl.store(out + row * out_stride + at, result.to(out.dtype.element_ty), mask=inside)
