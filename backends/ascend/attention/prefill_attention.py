"""prefill_attention by the library: packed prompts in one call where it takes them, else one each.

A causal call aligns the last query with the last key, as the contract does, so that a cached prefix
is more keys.
"""

from __future__ import annotations

from torch import Tensor

from xgr.backends.ascend.aten.rows import Rows
from xgr.backends.ascend.constraints import takes_packed
from xgr.backends.ascend.fia import Prompts
from xgr.backends.ascend.lengths import Lengths
from xgr.backends.ascend.strides import need_dense
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Block table, numbers of the rows."""
    return _PrefillAttention(problem, context)


class _PrefillAttention:
    def __init__(self, problem: Problem, context: Context) -> None:
        a = problem.sizes
        packed = takes_packed(a["H"], a["G"], a["d"])
        self._requests = a["B"]
        self._lengths = Lengths(context, a["N"], a["B"], a["T"], packed)
        self._prompts = Prompts(context, self._lengths, a["N"], a["H"], with_lse=False)
        self._rows = Rows(context, a["N"], a["B"])
        self.plan = self._lengths.plan

    def __call__(
        self,
        *,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        q_start: Tensor,
        prompt_start: Tensor,
        prompt_len: Tensor,
        causal: bool,
        max_distance: int,
        scale: float,
        out: Tensor,
        bias: None = None,
    ) -> None:
        need_dense("prefill_attention", "ascend.fia", q=q, k=k, v=v, out=out)
        self._lengths.ready(prompt_start, prompt_len, q_start)
        self._prompts.launch(q, k, v, scale, causal, out, out)
        owner = self._rows.owner(q_start)
        without = prompt_len.index_select(0, self._rows.within(owner)) < 1
        gone = (owner >= self._requests) | without
        out.masked_fill_(gone[:, None, None], 0)
