"""shared_attention: the rows of a request are queries of one call, so that its K/V is read once."""

from __future__ import annotations

from torch import Tensor

from xgr.backends.ascend.aten.rows import Rows
from xgr.backends.ascend.constraints import takes_packed
from xgr.backends.ascend.fia import Prompts
from xgr.backends.ascend.lengths import Lengths
from xgr.backends.ascend.strides import need_dense
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher

NO_SCORE = float("-inf")


class Shared:
    """The shared stage of a problem; dead rows hold anything until they are masked.

    Args:
        problem: with the axes R, H, G, d, T and B.
        context: of the bind.
    """

    def __init__(self, problem: Problem, context: Context) -> None:
        a = problem.sizes
        packed = takes_packed(a["H"], a["G"], a["d"])
        self.lengths = Lengths(context, a["R"], a["B"], a["T"], packed)
        self.launch = Prompts(context, self.lengths, a["R"], a["H"], with_lse=True).launch
        self._requests = a["B"]

    def keyless(self, owner: Tensor, prompt_len: Tensor) -> Tensor:
        """Which rows are of a request without a prompt, bool [R]; rows of nobody may be either."""
        return prompt_len.index_select(0, owner.clamp_max(self._requests - 1)) < 1


def build(problem: Problem, context: Context) -> Launcher:
    """Block table, log-sum-exp as the library writes it, numbers of the rows."""
    return _SharedAttention(problem, context)


class _SharedAttention:
    def __init__(self, problem: Problem, context: Context) -> None:
        self._stage = Shared(problem, context)
        self._rows = Rows(context, problem.sizes["R"], problem.sizes["B"])
        self.plan = self._stage.lengths.plan

    def __call__(
        self,
        *,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        prompt_start: Tensor,
        prompt_len: Tensor,
        row_start: Tensor,
        live: Tensor,
        scale: float,
        out: Tensor,
        lse: Tensor,
    ) -> None:
        need_dense("shared_attention", "ascend.fia", q=q, k=k, v=v, out=out, lse=lse)
        lengths = self._stage.lengths
        lengths.ready(prompt_start, prompt_len, row_start)
        self._stage.launch(q, k, v, scale, False, out, lse)
        owner = self._rows.owner(row_start)
        gone = ~self._rows.alive(owner, row_start, live)
        if lengths.some_empty or not lengths.calls:
            gone = gone | self._stage.keyless(owner, prompt_len)
        out.masked_fill_(gone[:, None, None], 0)
        lse.masked_fill_(gone[:, None], NO_SCORE)
