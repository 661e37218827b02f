"""The norm and the rotation of query and key heads, in float32 and rounded once."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from xgr.backends.ascend import _compat
from xgr.ops.dtype import float32
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context


class Rotary:
    """Heads of `rows` tokens in workspace: float32 [rows, H + G, d], and their angles [rows, d].

    Args:
        problem: with the axes H, G and d.
        context: of the bind.
        rows: tokens.
    """

    def __init__(self, problem: Problem, context: Context, rows: int) -> None:
        a = problem.sizes
        self.heads, self.groups, self.size = a["H"], a["G"], a["d"]
        self._rows = rows
        self._wide: Any = context.empty((rows, self.heads + self.groups, self.size), float32)
        self._cos: Any = context.empty((rows, 2, self.size // 2), float32)
        self._sin: Any = context.empty((rows, 2, self.size // 2), float32)

    def split(self, qkv: Tensor) -> Tensor:
        """Heads [rows, H + 2 G, d] of a fused projection: queries, keys, values."""
        return qkv.view(self._rows, self.heads + 2 * self.groups, self.size)

    def rotate(
        self,
        parts: Tensor,
        position: Tensor,
        cos: Tensor,
        sin: Tensor,
        q_norm: Tensor | None,
        k_norm: Tensor | None,
        eps: float,
    ) -> tuple[Tensor, Tensor]:
        """Queries [rows, H, d] and keys [rows, G, d], float32.

        Args:
            parts: what `split` returns.
            position: int32 [rows], within the tables.
            cos: float32 [P, d / 2].
            sin: float32 [P, d / 2].
            q_norm: [d], None for no norm.
            k_norm: [d], None for no norm.
            eps: of the norms.
        """
        both = self.heads + self.groups
        self._wide.copy_(parts[:, :both])
        heads = self._wide[:, : self.heads], self._wide[:, self.heads :]
        for x, weight in zip(heads, (q_norm, k_norm), strict=True):
            if weight is not None:
                gamma = weight.float()
                x.copy_(_compat.call("npu::npu_rms_norm", input=x, gamma=gamma, epsilon=eps)[0])
        # both halves of a head turn by the same angles
        for table, angles in ((cos, self._cos), (sin, self._sin)):
            angles.copy_(table.index_select(0, position)[:, None, :])
        shape = (1, self._rows, 1, self.size)
        turned = _compat.call(
            "npu::npu_rotary_mul",
            input=self._wide[None],
            r1=self._cos.view(shape),
            r2=self._sin.view(shape),
            rotary_mode="half",
        )[0]
        return turned[:, : self.heads], turned[:, self.heads :]
