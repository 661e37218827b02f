"""rope_prefill: the rotation by the library, then a scatter of keys and values into the arena.

Rows of nobody have no place in the arena, and a captured launch has a fixed number of rows: they
write what the first row writes, where it writes it, or what is there already when there is no row.
"""

from __future__ import annotations

import torch
from torch import Tensor

from xgr.backends.ascend import _compat
from xgr.backends.ascend.aten.rows import Rows
from xgr.backends.ascend.model_ops.rotary import Rotary
from xgr.backends.ascend.strides import need_dense
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Workspace of `Rotary`, and numbers of the rows."""
    a = problem.sizes
    rows = Rows(context, a["N"], a["B"])
    rotary = Rotary(problem, context, a["N"])

    def rope_prefill(
        *,
        qkv: Tensor,
        cos: Tensor,
        sin: Tensor,
        q_start: Tensor,
        prompt_start: Tensor,
        prompt_len: Tensor,
        k: Tensor,
        v: Tensor,
        out: Tensor,
        eps: float,
        q_norm: Tensor | None = None,
        k_norm: Tensor | None = None,
        hidden: None = None,  # refused
    ) -> None:
        need_dense("rope_prefill", "ascend.library", k=k, v=v)
        owner = rows.owner(q_start)
        here = rows.within(owner)
        nobody = owner >= a["B"]
        # the queries are the last tokens: the request's end less the rows that are still to come
        behind = q_start.index_select(0, here + 1) - rows.number
        position = prompt_len.index_select(0, here) - behind
        position.masked_fill_(nobody, 0)
        place = prompt_start.index_select(0, here) + position
        parts = rotary.split(qkv)
        query, key = rotary.rotate(parts, position, cos, sin, q_norm, k_norm, eps)
        out.copy_(query)
        out.masked_fill_(nobody[:, None, None], 0)
        source = rows.number.masked_fill(nobody, 0)
        place = place.index_select(0, source)
        empty = nobody.index_select(0, source)[:, None, None]
        value = parts[:, rotary.heads + rotary.groups :]
        for new, cache in ((key.to(k.dtype), k), (value, v)):
            kept = cache.index_select(0, place)
            updates = torch.where(empty, kept, new.index_select(0, source))
            _compat.call(
                "npu::npu_scatter_nd_update_",
                input=cache, indices=place[:, None], updates=updates,
            )  # fmt: skip

    return rope_prefill
