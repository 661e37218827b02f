"""staged_attention: both stages by the library and their merge, one after the other or at once.

Rows that are dead take part in the stages and the merge, and are masked once at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from torch import Tensor

from xgr.backends.ascend import _compat
from xgr.backends.ascend.aten.rows import Rows
from xgr.backends.ascend.attention.merge_attention import Merge
from xgr.backends.ascend.attention.shared_attention import NO_SCORE, Shared
from xgr.backends.ascend.device import current
from xgr.backends.ascend.stages import stage_groups
from xgr.backends.ascend.streams import Stream
from xgr.backends.ascend.strides import need_dense
from xgr.backends.ascend.unshared import Unshared
from xgr.ops.dtype import dtype, float32
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Workspace of both stages, their results [2, R, H, d] and [2, R, H], and of the merge."""
    return _StagedAttention(problem, context)


def build_split(problem: Problem, context: Context) -> Launcher:
    """The same, with a stream and a core group for each stage."""
    groups = stage_groups(problem, context.config, current())
    return _StagedAttention(problem, context, [Stream(group) for group in groups])


class _StagedAttention:
    def __init__(
        self, problem: Problem, context: Context, streams: list[Stream] | None = None
    ) -> None:
        a = problem.sizes
        self._shared, self._unshared = Shared(problem, context), Unshared(problem, context)
        self._merge = Merge(problem, context, 2)
        self._rows = Rows(context, a["R"], a["B"])
        self._streams = streams
        shape, kind = (a["R"], a["H"], a["d"]), dtype(problem.dtype)
        self._outs: list[Any] = [context.empty(shape, kind) for _ in range(2)]
        self._lses: list[Any] = [context.empty(shape[:2], float32) for _ in range(2)]
        self.plan = self._shared.lengths.plan

    def __call__(
        self,
        *,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        k_unshared: Tensor,
        v_unshared: Tensor,
        prompt_start: Tensor,
        prompt_len: Tensor,
        row_start: Tensor,
        live: Tensor,
        step: int,
        scale: float,
        out: Tensor,
        lse: Tensor,
        ancestors: Tensor | None = None,
    ) -> None:
        need_dense("staged_attention", "ascend.fia", q=q, k=k, v=v, out=out, lse=lse)
        need_dense(
            "staged_attention", "ascend.fia", k_unshared=k_unshared, v_unshared=v_unshared
        )  # fmt: skip
        lengths = self._shared.lengths
        lengths.ready(prompt_start, prompt_len, row_start)
        owner = self._rows.owner(row_start)
        alive = self._rows.alive(owner, row_start, live)
        unshared = partial(
            self._unshared.launch, q, k_unshared, v_unshared, step, scale, ancestors, alive
        )
        gone = ~alive
        if not step or not lengths.calls:  # one stage alone writes the result
            if lengths.calls:
                self._shared.launch(q, k, v, scale, False, out, lse)
                if lengths.some_empty:
                    gone = gone | self._shared.keyless(owner, prompt_len)
            elif step:
                unshared(out, lse)
            else:
                gone = gone | alive
        else:
            shared = partial(self._shared.launch, q, k, v, scale, False)
            self._both(shared, unshared)
            if lengths.some_empty:
                self._mask(self._shared.keyless(owner, prompt_len), self._outs[0], self._lses[0])
            self._merge.launch(self._outs, self._lses, out, lse)
        self._mask(gone, out, lse)

    def _both(self, *stages: Callable[[Tensor, Tensor], None]) -> None:
        for at, stage in enumerate(stages):
            if self._streams is None:
                stage(self._outs[at], self._lses[at])
                continue
            here, stream = _compat.npu().current_stream(), self._streams[at]
            stream.torch.wait_stream(here)
            with stream:
                stage(self._outs[at], self._lses[at])
        for stream in self._streams or ():
            _compat.npu().current_stream().wait_stream(stream.torch)

    @staticmethod
    def _mask(gone: Tensor, out: Tensor, lse: Tensor) -> None:
        out.masked_fill_(gone[:, None, None], 0)
        lse.masked_fill_(gone[:, None], NO_SCORE)
