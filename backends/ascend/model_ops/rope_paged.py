"""rope_paged: the rotation by the library, then a token of a block for every live row."""

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
    tokens = a["BT"]

    def rope_paged(
        *,
        qkv: Tensor,
        cos: Tensor,
        sin: Tensor,
        block_table: Tensor,
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
        """Each live row is the token at position prompt_len + step of its table."""
        owner = rows.owner(row_start)
        alive = rows.alive(owner, row_start, live)
        position = prompt_len.index_select(0, rows.within(owner)) + step
        parts = rotary.split(qkv)
        query, key = rotary.rotate(parts, position, cos, sin, q_norm, k_norm, eps)
        out.copy_(query)
        out.masked_fill_(~alive[:, None, None], 0)
        value = parts[:, rotary.heads + rotary.groups :]

        column = torch.floor_divide(position, tokens)
        last = column.clamp(0, block_table.shape[1] - 1).to(torch.int64)[:, None]
        place = block_table.gather(1, last)[:, 0] * tokens + (position - column * tokens)
        row, some = rows.repeated(alive)
        token = place.index_select(0, row).masked_fill_(~some, 0)
        for new, pool in ((key.to(k.dtype), k), (value, v)):
            flat = pool.view(-1, *pool.shape[2:])
            held = flat.index_select(0, token)
            written = torch.where(some, new.index_select(0, row), held)
            flat.index_copy_(0, token.to(torch.int64), written)

    return rope_paged
