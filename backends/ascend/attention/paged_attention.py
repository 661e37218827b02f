"""paged_attention by the library: every row is a sequence of one query over its blocks."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Hashable, Sequence
from typing import Any

from torch import Tensor

from xgr.backends.ascend import _compat, graph
from xgr.backends.ascend.aten.rows import Rows, counting
from xgr.backends.ascend.attention.shared_attention import NO_SCORE
from xgr.backends.ascend.fia import OUT, WORKSPACE
from xgr.backends.ascend.strides import need_dense
from xgr.errors import InputError
from xgr.ops.dtype import int32
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher

_VERSIONS = itertools.count(1)


class RowLengths:
    """The tokens of each row's prompt, as host ints: the library wants lengths of calls there.

    A launch without a plan reads them from the device, and no graph can hold it.

    Args:
        rows: R.
        requests: B.

    Attributes:
        version: a number of the lengths, for graphs.
        layout: the same for all of them: a captured call takes any lengths.
    """

    layout: Hashable = None

    def __init__(self, rows: int, requests: int) -> None:
        self._count, self._requests = rows, requests
        self._planned = False
        self._prompt: list[int] = []
        self.version = 0

    def plan(
        self, prompt_start: Sequence[int], prompt_len: Sequence[int], widths: Sequence[int]
    ) -> None:
        """Take a batch's host ints, once a batch.

        Raises:
            InputError: not one of each a request, or more rows than there are.
        """
        if {len(prompt_len), len(widths)} != {self._requests} or sum(widths) > self._count:
            raise InputError(
                f"a plan of {len(prompt_len)} lengths and widths that sum to {sum(widths)}, need "
                f"{self._requests} of each and at most {self._count} rows"
            )
        self._derive(prompt_len, widths)
        self._planned = True

    def ready(self, prompt_len: Tensor, row_start: Tensor) -> None:
        """Let the lengths be those of the plan, or of what the device holds where there is none."""
        if self._planned:
            graph.depends(self)
            return
        graph.refuse("paged attention without a plan reads its lengths from the device")
        edges = row_start.cpu().tolist()
        widths = [after - before for before, after in itertools.pairwise(edges)]
        self._derive(prompt_len.cpu().tolist(), widths)

    def with_step(self, step: int) -> list[int]:
        """Keys of every row after `step` tokens of its own; at least 1, as the library wants."""
        keys = [max(1, length + step) for length in self._prompt]
        return keys + [1] * (self._count - len(keys))

    def _derive(self, prompt_len: Sequence[int], widths: Sequence[int]) -> None:
        self.version = next(_VERSIONS)
        pairs = zip(prompt_len, widths, strict=True)
        self._prompt = [length for length, width in pairs for _ in range(width)]


class _PagedAttention:
    """One call for all rows; tables of rows that are not read name block 0.

    Args:
        problem: with the axes R, B, H, G, d, BT and MB.
        context: of the bind.
    """

    def __init__(self, problem: Problem, context: Context) -> None:
        a = problem.sizes
        self._rows = Rows(context, a["R"], a["B"])
        self._lengths = RowLengths(a["R"], a["B"])
        self._first = counting(context, a["MB"])
        self._table: Any = context.empty((a["R"], a["MB"]), int32)
        self._sizes = a
        self._space: Tensor | None = None
        self.plan = self._lengths.plan

    def __call__(
        self,
        *,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        block_table: Tensor,
        prompt_len: Tensor,
        row_start: Tensor,
        live: Tensor,
        step: int,
        scale: float,
        out: Tensor,
        lse: Tensor,
    ) -> None:
        """Every live row sees the tokens that its table leads to."""
        need_dense("paged_attention", "ascend.fia", q=q, k=k, v=v, out=out, lse=lse)
        self._lengths.ready(prompt_len, row_start)
        owner = self._rows.owner(row_start)
        keys = prompt_len.index_select(0, self._rows.within(owner)) + step
        # what is behind a row's tokens, or nobody's, need not be the number of a block
        seen = self._rows.alive(owner, row_start, live)[:, None] & (
            self._first * self._sizes["BT"] < keys[:, None]
        )
        self._table.copy_(block_table)
        self._table.masked_fill_(~seen, 0)
        call = functools.partial(self._call, q, k, v, step, scale, out, lse)
        if self._space is None:
            self._space = _compat.call(WORKSPACE, **self._arguments(q, k, v, step, scale))
        graph.updatable(self._lengths, call)
        gone = ~seen[:, 0]
        out.masked_fill_(gone[:, None, None], 0)
        lse.masked_fill_(gone[:, None], NO_SCORE)

    def _call(
        self, q: Tensor, k: Tensor, v: Tensor, step: int, scale: float, out: Tensor, lse: Tensor
    ) -> None:
        rows, heads = self._sizes["R"], self._sizes["H"]
        results = [out[:, None], lse.view(rows, heads, 1, 1)]
        known = self._arguments(q, k, v, step, scale)
        _compat.call(OUT, **known, workspace=self._space, out=results)

    def _arguments(
        self, q: Tensor, k: Tensor, v: Tensor, step: int, scale: float
    ) -> dict[str, Any]:
        a = self._sizes
        blocks = (-1, a["BT"], a["G"] * a["d"])
        return {
            "query": q[:, None],
            "key": k.view(blocks),
            "value": v.view(blocks),
            "actual_seq_kvlen": self._lengths.with_step(step),
            "block_table": self._table,
            "block_size": a["BT"],
            "num_query_heads": a["H"],
            "num_key_value_heads": a["G"],
            "softmax_scale": scale,
            "input_layout": "BSND",
            "return_softmax_lse": True,
        }


def build(problem: Problem, context: Context) -> Launcher:
    """A table of blocks that are all there, numbers of rows and columns."""
    return _PagedAttention(problem, context)
