"""The fused attention of the library over the beams' own tokens: every row is a sequence."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from xgr.backends.ascend import _compat
from xgr.backends.ascend.aten.rows import counting
from xgr.backends.ascend.fia import OUT
from xgr.ops.dtype import dtype, int32
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context


class Unshared:
    """One query a row over slots 0 .. step - 1 of the row, or of its ancestors.

    Args:
        problem: with the axes R, S, G and d.
        context: of the bind; with ancestors the gathered K/V [R * S, G * d] are workspace.
    """

    def __init__(self, problem: Problem, context: Context) -> None:
        a = problem.sizes
        self._rows, self._slots = a["R"], a["S"]
        self._heads, self._groups, self._size = a["H"], a["G"], a["d"]
        self._gathered: list[Any] = []
        if problem.flag("ancestors") and self._slots:
            shape = (self._rows * self._slots, self._groups * self._size)
            self._gathered = [context.empty(shape, dtype(problem.dtype)) for _ in range(2)]
            self._row = counting(context, self._rows)
            self._slot = counting(context, self._slots)
            self._place: Any = context.empty((self._rows, self._slots), int32)

    def launch(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        step: int,
        scale: float,
        ancestors: Tensor | None,
        alive: Tensor,
        out: Tensor,
        lse: Tensor,
    ) -> None:
        """Attention of every row, dead ones included; `step` is at least 1.

        Args:
            q: [R, H, d], dense as all tensors here.
            k: [R, S, G, d].
            v: [R, S, G, d].
            step: slots that are read.
            scale: of the scores.
            ancestors: int32 [R, S], None for the rows themselves.
            alive: bool [R]; ancestors of other rows are not read.
            out: [R, H, d], written.
            lse: float32 [R, H], written.
        """
        if ancestors is not None:
            k, v = self._gather(k, v, step, ancestors, alive)
        _compat.call(
            OUT,
            query=q[:, None],
            key=k,
            value=v,
            actual_seq_kvlen=[step] * self._rows,
            num_query_heads=self._heads,
            num_key_value_heads=self._groups,
            softmax_scale=scale,
            input_layout="BSND",
            return_softmax_lse=True,
            out=[out[:, None], lse.view(self._rows, self._heads, 1, 1)],
        )

    def _gather(
        self, k: Tensor, v: Tensor, step: int, ancestors: Tensor, alive: Tensor
    ) -> tuple[Tensor, Tensor]:
        """K/V [R, step, G, d] of the rows that hold each row's tokens, in workspace."""
        place = self._place.view(-1)[: self._rows * step]
        holder = torch.where(alive[:, None], ancestors[:, :step], self._row[:, None])
        torch.add(holder * self._slots, self._slot[:step], out=place.view(self._rows, step))
        parts = []
        for cache, gathered in zip((k, v), self._gathered, strict=True):
            tokens = cache.view(self._rows * self._slots, -1)
            part = gathered[: self._rows * step]
            torch.index_select(tokens, 0, place, out=part)
            parts.append(part.view(self._rows, step, self._groups, self._size))
        return parts[0], parts[1]
