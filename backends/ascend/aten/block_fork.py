"""block_fork: columns by arithmetic, blocks of childless rows dealt out by two stable sorts."""

from __future__ import annotations

import torch
from torch import Tensor

from xgr.backends.ascend.aten.rows import Rows, counting
from xgr.ops.kv_reorder import BAD_PARENT
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


class Fork:
    """The tables of R rows of B requests, MB columns each.

    Args:
        problem: with the axes R, B, MB and OB.
        context: of the bind.
    """

    def __init__(self, problem: Problem, context: Context) -> None:
        a = problem.sizes
        self._rows = Rows(context, a["R"], a["B"])
        self._column = counting(context, a["MB"])
        self._own = a["OB"]

    def from_prompts(
        self, row_start: Tensor, live: Tensor, prompt_start: Tensor, prompt_len: Tensor,
        own: Tensor, out: Tensor, source: Tensor, target: Tensor, block_tokens: int,
    ) -> None:  # fmt: skip
        """Full blocks of the prompt, then the row's own; its last block is copied if not full."""
        rows = self._rows
        owner = rows.owner(row_start)
        alive, here = rows.alive(owner, row_start, live), rows.within(owner)
        nobody = owner >= rows.request.shape[0]
        length = prompt_len.index_select(0, here).masked_fill_(nobody, 0)
        first = torch.floor_divide(prompt_start, block_tokens).index_select(0, here)
        full = torch.floor_divide(length, block_tokens)
        out.copy_(self._filled(own, full))
        shared = first[:, None] + self._column
        out.copy_(torch.where(self._column < full[:, None], shared, out))
        copied = alive & (length - full * block_tokens > 0)
        source.copy_((first + full).masked_fill_(~copied, -1))
        target.copy_(own[:, 0].masked_fill(~copied, -1))

    def from_parents(
        self, parent: Tensor, row_start: Tensor, live: Tensor, prompt_len: Tensor, own: Tensor,
        table: Tensor, out: Tensor, source: Tensor, target: Tensor, status: Tensor,
        step: int, block_tokens: int,
    ) -> None:  # fmt: skip
        """Columns before that of the token are the parent's, a block that is begun is one row's."""
        rows, number = self._rows, self._rows.number
        owner = rows.owner(row_start)
        good, source_row = rows.sound(parent, row_start, live, status, BAD_PARENT)
        here, nobody = rows.within(owner), owner >= rows.request.shape[0]
        token = prompt_len.index_select(0, here) + step
        column = torch.floor_divide(token, block_tokens)
        begun = (token - column * block_tokens > 0) & ~nobody

        # requests of which a row is good: all their rows take part, dead ones keep a block
        part = (rows.of_request(owner) & good).any(1).index_select(0, here) & begun
        first = row_start.index_select(0, here) == number
        before = torch.cat((source_row[:1], source_row[:-1]))
        heir = good & (first | (source_row != before))
        has_child = self._marked(source_row, good)
        block = table.gather(1, column.clamp(0, table.shape[1] - 1).to(torch.int64)[:, None])[:, 0]
        dealt = self._dealt(block, part & ~heir, part & ~has_child)

        inherited = block.index_select(0, source_row)
        mine = torch.where(heir, inherited, dealt)
        alone = self._filled(own, torch.zeros_like(owner))
        out.copy_(torch.where(nobody[:, None], alone, table))
        earlier = (self._column < column[:, None]) & good[:, None]
        out.copy_(torch.where(earlier, table.index_select(0, source_row), out))
        at = (self._column == column[:, None]) & part[:, None]
        out.copy_(torch.where(at, mine[:, None], out))
        copied = part & good & ~heir
        source.copy_(inherited.masked_fill(~copied, -1))
        target.copy_(mine.masked_fill(~copied, -1))

    def _filled(self, own: Tensor, full: Tensor) -> Tensor:
        """The row's own blocks [R, MB] from column `full` on, the last one to the end."""
        at = (self._column - full[:, None]).clamp(0, self._own - 1)
        return own.gather(1, at.to(torch.int64))

    def _marked(self, row: Tensor, wanted: Tensor) -> Tensor:
        """Which rows [R] are named by wanted places."""
        size = row.shape[0]
        found = torch.zeros(size + 1, dtype=torch.float32, device=row.device)
        place = row.masked_fill(~wanted, size).to(torch.int64)
        found.scatter_(0, place, torch.ones(size, dtype=torch.float32, device=row.device))
        return found[:size] > 0

    @staticmethod
    def _dealt(block: Tensor, takers: Tensor, free: Tensor) -> Tensor:
        """For takers the blocks of free rows, both ascending: a request has as many of each."""
        to, of = (
            torch.sort(flags.to(torch.float32), descending=True, stable=True).indices
            for flags in (takers, free)
        )
        found = torch.zeros(block.shape, dtype=block.dtype, device=block.device)
        found.scatter_(0, to, block.index_select(0, of))
        return found


def build(problem: Problem, context: Context) -> Launcher:
    """Numbers of rows and columns."""
    fork = Fork(problem, context)

    def block_fork(
        *,
        row_start: Tensor,
        live: Tensor,
        prompt_start: Tensor,
        prompt_len: Tensor,
        own: Tensor,
        out: Tensor,
        source: Tensor,
        target: Tensor,
        status: Tensor,
        step: int,
        block_tokens: int,
        parent: Tensor | None = None,
        table: Tensor | None = None,
    ) -> None:
        """Tables of the prompts, or of the parents."""
        if table is None or parent is None:
            fork.from_prompts(
                row_start, live, prompt_start, prompt_len, own, out, source, target, block_tokens
            )
            return
        fork.from_parents(
            parent, row_start, live, prompt_len, own, table, out, source, target, status,
            step, block_tokens,
        )  # fmt: skip

    return block_fork
