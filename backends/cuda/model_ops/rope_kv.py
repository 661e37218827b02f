# Triton's language has no types:
# mypy: disable-error-code="no-untyped-def,untyped-decorator"
"""rope_kv: a program some heads of a row."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents

from xgr.backends.cuda.device import chains
from xgr.backends.cuda.model_ops.norm_behind import load_row, row_stride
from xgr.backends.cuda.model_ops.rotary import divide, load_heads, rotate_heads
from xgr.backends.cuda.rows import of_request
from xgr.backends.cuda.strides import need_dense_rows
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Rows, heads and requests are fixed; lengths and `live` are read on the device."""
    sizes = problem.sizes
    requests = sizes["B"]
    constants, parts = divide(problem)
    grid = sizes["R"], parts
    chained = chains()

    def rope_kv(
        *,
        qkv: torch.Tensor,
        cos: torch.Tensor,
        sin: torch.Tensor,
        prompt_len: torch.Tensor,
        row_start: torch.Tensor,
        live: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        out: torch.Tensor,
        step: int,
        eps: float,
        q_norm: torch.Tensor | None = None,
        k_norm: torch.Tensor | None = None,
        hidden: torch.Tensor | None = None,
    ) -> None:
        need_dense_rows(
            "rope_kv",
            qkv=qkv, cos=cos, sin=sin, prompt_len=prompt_len, row_start=row_start, live=live,
            k=k, v=v, out=out, q_norm=q_norm, k_norm=k_norm,
            hidden=hidden,
        )  # fmt: skip
        _rope_kv[grid](
            qkv, cos, sin, cos if q_norm is None else q_norm, cos if k_norm is None else k_norm,
            hidden, prompt_len, row_start, live, k, v, out, qkv.stride(0), row_stride(hidden),
            cos.stride(0), sin.stride(0), *k.stride()[:3], *v.stride()[:3], *out.stride()[:2],
            step, eps, requests, CHAINED=chained, **constants,
        )  # fmt: skip

    return rope_kv


@triton.jit(do_not_specialize=["step", "requests"])
def _rope_kv(
    qkv, cos, sin, q_norm, k_norm, hidden, prompt_len, row_start, live, k, v, out,
    qkv_row, hidden_row, cos_row, sin_row, k_row, k_slot, k_head, v_row, v_slot, v_head,
    out_row, out_head, step, eps, requests,
    H: tl.constexpr, G: tl.constexpr, D: tl.constexpr, h: tl.constexpr,
    NORM_Q: tl.constexpr, NORM_K: tl.constexpr, CHAINED: tl.constexpr,
    BLOCK_B: tl.constexpr, BLOCK_H: tl.constexpr, BLOCK_F: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    if CHAINED:
        gdc_launch_dependents()  # attention's prologue runs meanwhile
    row, part = tl.program_id(0).to(tl.int64), tl.program_id(1)
    # all that is read at once comes before what waits for it
    at = tl.arange(0, BLOCK_B)
    mine = at < requests
    starts = tl.load(row_start + at, mask=mine, other=0)
    ends = tl.load(row_start + 1 + at, mask=mine, other=2147483647)
    lives = tl.load(live + at, mask=mine, other=0)
    lengths = tl.load(prompt_len + at, mask=mine, other=0)
    low, high = load_heads(qkv + row * qkv_row, part, H, G, D, BLOCK_H, BLOCK_F)
    normed = load_row(hidden, row * hidden_row, h, BLOCK_N)
    b = tl.sum((ends <= row).to(tl.int32), axis=0)
    alive = row < of_request(starts + lives, b, BLOCK_B)
    position = (of_request(lengths, b, BLOCK_B) + step).to(tl.int64)
    rotate_heads(
        low, high, normed, cos + position * cos_row, sin + position * sin_row, q_norm, k_norm,
        out + row * out_row, k + row * k_row + step * k_slot, v + row * v_row + step * v_slot,
        out_head, k_head, v_head, alive, eps, part,
        H, G, D, h, NORM_Q, NORM_K, BLOCK_H, BLOCK_F,
    )  # fmt: skip
