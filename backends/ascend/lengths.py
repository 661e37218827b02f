"""Where a batch's prompts and rows lie, as host ints, and the calls of attention that follow."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from xgr.backends.ascend import graph
from xgr.backends.ascend.constraints import BLOCK
from xgr.backends.tensors import send
from xgr.errors import InputError
from xgr.ops.dtype import int32
from xgr.registry.kernel import Context

_VERSIONS = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the fused attention over the prompts of some requests.

    Attributes:
        first: its first query row.
        end: behind its last one.
        count: elements of the batch that the rows are divided into; 0 where they are packed.
        lengths: keys of each element, at least 1: a request without any is masked afterwards.
        q_ends: packed, where each element's rows end; else empty.
        at: row of the block table that is its first; of a dense call its first token.
        dense: K/V are the tokens at .. at + lengths[0] - 1 and no blocks.
    """

    first: int
    end: int
    count: int
    lengths: list[int]
    at: int
    q_ends: list[int] = field(default_factory=list)
    dense: bool = False

    @property
    def single(self) -> bool:
        """No element has more than one query, which then is its last: it sees every key.

        The library reads no causal mode of such a call, and would take the mask as it is.
        """
        if self.count:
            return self.end - self.first == self.count
        return all(end - start <= 1 for start, end in pairwise([0, *self.q_ends]))


class Lengths:
    """The plan of a batch's prompts.

    A launch without a plan reads the lengths from the device, and waits for it: for scripts. A
    graph cannot hold such a launch.

    Args:
        context: of the bind; the block table is its workspace, int32 [B + 1, T / 128].
        rows: query rows, R or N.
        requests: B.
        tokens: T.
        packed: the library takes the queries of all requests in one call.

    Attributes:
        version: a number of the lengths, for graphs.
        layout: equal for plans that make the same calls but for the lengths and the table.
        calls: what to launch; none where there are no keys at all.
        some_empty: a request with rows has no prompt.
        table: the block table.
    """

    def __init__(
        self, context: Context, rows: int, requests: int, tokens: int, packed: bool
    ) -> None:
        self._rows, self._requests, self._tokens = rows, requests, tokens
        self._packed = packed
        blocks = tokens // BLOCK if tokens % BLOCK == 0 else 0
        table: Any = context.empty((requests + 1, blocks), int32) if blocks else None
        self.table: Tensor | None = table
        self._planned = False
        self.version = 0
        self.layout: Hashable = None
        self.calls: list[Call] = []
        self.some_empty = False

    def plan(
        self, prompt_start: Sequence[int], prompt_len: Sequence[int], widths: Sequence[int]
    ) -> None:
        """Take a batch's host ints, once a batch.

        Raises:
            InputError: not one of each a request, or more rows than there are.
        """
        counts = {len(prompt_start), len(prompt_len), len(widths)}
        if counts != {self._requests} or sum(widths) > self._rows:
            raise InputError(
                f"a plan of {len(prompt_start)} starts, {len(prompt_len)} lengths and widths that "
                f"sum to {sum(widths)}, need {self._requests} of each and at most {self._rows} rows"
            )
        self._derive(list(prompt_start), list(prompt_len), list(widths))
        self._planned = True

    def ready(self, prompt_start: Tensor, prompt_len: Tensor, edges: Tensor) -> None:
        """Let the calls be those of the plan, or of what the device holds where there is none."""
        if self._planned:
            graph.depends(self)
            return
        graph.refuse("attention without a plan reads its lengths from the device")
        starts, lengths, ends = (x.cpu().tolist() for x in (prompt_start, prompt_len, edges))
        self._derive(starts, lengths, [after - before for before, after in pairwise(ends)])

    def _derive(self, starts: list[int], lengths: list[int], widths: list[int]) -> None:
        self.version = next(_VERSIONS)
        # requests without rows, as those that fill a bucket, are no part of any call
        prompts = [
            (start, n) for start, n, width in zip(starts, lengths, widths, strict=True) if width
        ]
        edges = [0, *itertools.accumulate(width for width in widths if width)]
        self.some_empty = any(not n for _, n in prompts)
        paged = self.table is not None and not any(start % BLOCK for start, n in prompts if n)
        if not any(n for _, n in prompts):
            self.calls, self.layout = [], ()
        elif not paged:
            self.calls = [
                Call(first, end, 1, [n], start, dense=True)
                for (first, end), (start, n) in zip(pairwise(edges), prompts, strict=True)
                if n
            ]
            self.layout = tuple((c.first, c.end, c.at, c.lengths[0]) for c in self.calls)
        else:
            self._fill(prompts)
            self.calls = list(self._paged(edges, [max(1, n) for _, n in prompts]))
            self.layout = (
                self.some_empty,
                *((c.first, c.end, c.count, c.single, len(c.lengths)) for c in self.calls),
            )

    def _paged(self, edges: list[int], lengths: list[int]) -> Sequence[Call]:
        spare = self._rows - edges[-1]
        if self._packed and spare <= self._tokens:
            # the last end must be the last row: the rows of nobody are an element of their own,
            # over as many keys, since a causal call takes no fewer
            rest = [spare] if spare else []
            ends = [*edges[1:], *([self._rows] if spare else [])]
            return [Call(0, self._rows, 0, lengths + rest, 0, q_ends=ends)]
        if len({end - first for first, end in pairwise(edges)}) == 1:
            return [Call(0, edges[-1], len(lengths), lengths, 0)]
        return [
            Call(first, end, 1, [n], at)
            for at, ((first, end), n) in enumerate(zip(pairwise(edges), lengths, strict=True))
        ]

    def _fill(self, prompts: Sequence[tuple[int, int]]) -> None:
        """Blocks of each prompt in order; block 0 where there is none, and for rows of nobody."""
        assert self.table is not None
        host = torch.zeros(self.table.shape, dtype=torch.int32)
        for at, (start, n) in enumerate(prompts):
            if n:
                first, count = start // BLOCK, -(-n // BLOCK)
                host[at, :count] = torch.arange(first, first + count, dtype=torch.int32)
        send(host, self.table)
