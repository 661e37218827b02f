"""Prefill attention by the flash attention (Dao 2023) that torch carries.

A peer to measure against and never chosen unasked: torch allocates the result at each launch, and
two launches more copy it to `out` with zeros for the rows of nobody.
"""

from __future__ import annotations

from typing import Any

import torch

from xgr.backends.cuda.aligned import misaligned, refused
from xgr.ops.dtype import dtype, int32
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Workspace: where each prompt begins, int32 [B + 1], the numbers of the rows, and a zero."""
    a = problem.sizes
    rows, requests = a["N"], a["B"]
    starts: Any = context.empty((requests + 1,), int32)
    starts.zero_()
    number: Any = context.empty((rows,), int32)
    torch.arange(rows, out=number)
    zero: Any = context.empty((1, 1, 1), dtype(problem.dtype))
    zero.zero_()
    # one query at most would ask torch for its decode path, which takes no padding
    most = max(rows, 2)

    def prefill_attention(
        *,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        q_start: torch.Tensor,
        prompt_start: torch.Tensor,
        prompt_len: torch.Tensor,
        causal: bool,
        max_distance: int,
        scale: float,
        out: torch.Tensor,
        bias: None = None,
    ) -> None:
        for name, tensor in (("q", q), ("k", k), ("v", v)):
            _need_aligned(name, tensor)
        # of a prompt only its start is read here: seqused_k has the lengths, so that prompts may
        # lie in any order with gaps between them. `causal` aligns the last query and the last key.
        starts[:requests].copy_(prompt_start)
        found = torch.ops.aten._flash_attention_forward(
            q, k, v, q_start, starts, most, k.shape[0], 0.0, causal, False,
            scale=scale, seqused_k=prompt_len,
        )[0]  # fmt: skip
        owned = (number < q_start[-1:])[:, None, None]
        torch.where(owned, found, zero, out=out)

    return prefill_attention


def _need_aligned(name: str, tensor: torch.Tensor) -> None:
    if misaligned(tensor):
        need = "vectors that begin at multiples of 16 bytes"
        hint = f"pass {name}.contiguous(), or kernel='cuda.triton'"
        raise refused("cuda.torch", f"{name} cannot be read", tensor, need, hint)
