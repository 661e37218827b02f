"""rope_kv: the rotation by the library, then a slot of every row, dead ones with what they hold."""

from __future__ import annotations

import torch
from torch import Tensor

from xgr.backends.ascend.aten.rows import Rows
from xgr.backends.ascend.model_ops.rotary import Rotary
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Workspace of `Rotary`, and numbers of the rows."""
    a = problem.sizes
    rows = Rows(context, a["R"], a["B"])
    rotary = Rotary(problem, context, a["R"])

    def rope_kv(
        *,
        qkv: Tensor,
        cos: Tensor,
        sin: Tensor,
        prompt_len: Tensor,
        row_start: Tensor,
        live: Tensor,
        k: Tensor,
        v: Tensor,
        out: Tensor,
        step: int,
        eps: float,
        q_norm: Tensor | None = None,
        k_norm: Tensor | None = None,
        hidden: None = None,  # refused
    ) -> None:
        owner = rows.owner(row_start)
        alive = rows.alive(owner, row_start, live)[:, None, None]
        position = prompt_len.index_select(0, rows.within(owner)) + step
        parts = rotary.split(qkv)
        query, key = rotary.rotate(parts, position, cos, sin, q_norm, k_norm, eps)
        out.copy_(query)
        out.masked_fill_(~alive, 0)
        value = parts[:, rotary.heads + rotary.groups :]
        for new, cache in ((key.to(k.dtype), k), (value, v)):
            slot = cache[:, step]
            slot.copy_(torch.where(alive, new, slot))

    return rope_kv
