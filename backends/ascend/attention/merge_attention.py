"""merge_attention by the library.

What it does with a log-sum-exp of -inf is not documented: a finite number that weighs nothing goes
in instead, and comes out where every part is empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from xgr.backends.ascend import _compat
from xgr.backends.ascend.attention.shared_attention import NO_SCORE
from xgr.errors import Reason, Unsupported
from xgr.ops.dtype import float32
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher

# below every score, and what is no part's score; sums of a few of the first stay below the second
LEAST, NOTHING = -1e30, -1e29
MOST_PARTS = 16
# also returns the merged log-sum-exp
WITH_LSE = 1


class Merge:
    """The merge of at most `parts` parts: log-sum-exp without infinities [parts, R * H] is kept.

    Args:
        problem: with the axes R, H and d.
        context: of the bind.
        parts: the most of them.
    """

    def __init__(self, problem: Problem, context: Context, parts: int) -> None:
        a = problem.sizes
        self._shape = a["R"], a["H"], a["d"]
        self._lses: list[Any] = [context.empty((a["R"] * a["H"],), float32) for _ in range(parts)]

    def launch(
        self, outs: Sequence[Tensor], lses: Sequence[Tensor], out: Tensor, lse: Tensor
    ) -> None:
        """(outs[i] [R, H, d], lses[i] [R, H]) -> out, lse; where all are empty, (0, -inf)."""
        rows, heads, size = self._shape
        finite = self._lses[: len(outs)]
        for kept, part in zip(finite, lses, strict=True):
            torch.clamp_min(part, LEAST, out=kept.view(rows, heads))
        merged, total = _compat.call(
            "npu::npu_attention_update",
            lse=finite,
            local_out=[part.reshape(rows * heads, size) for part in outs],
            update_type=WITH_LSE,
        )
        out.copy_(merged.view(self._shape))
        lse.copy_(total.view(rows, heads))
        lse.masked_fill_(lse < NOTHING, NO_SCORE)


def build(problem: Problem, context: Context) -> Launcher:
    """Workspace of `Merge` for as many parts as the library takes."""
    merge = Merge(problem, context, MOST_PARTS)

    def merge_attention(
        *, outs: Sequence[Tensor], lses: Sequence[Tensor], out: Tensor, lse: Tensor
    ) -> None:
        if len(outs) > MOST_PARTS:
            reason = Reason("parts", str(len(outs)), f"at most {MOST_PARTS}", "merge in turns")
            raise Unsupported("too many parts", [("ascend.update", reason)])
        merge.launch(outs, lses, out, lse)

    return merge_attention
