# Triton's language has no types:
# mypy: disable-error-code="no-untyped-def,untyped-decorator"
"""block_fork: a program a request hands out the blocks, then a program a piece of a row copies."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from xgr.backends.cuda.rows import parents_are_sound, request_of
from xgr.backends.cuda.strides import need_dense_rows
from xgr.ops.dtype import int32
from xgr.ops.kv_reorder import BAD_PARENT
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Rows are walked in blocks, as widths are known on the device only."""
    a = problem.sizes
    requests, rows, columns, own_columns = a["B"], a["R"], a["MB"], a["OB"]
    block_r, block_b = min(triton.next_power_of_2(rows), 512), triton.next_power_of_2(requests)
    block_c = min(triton.next_power_of_2(columns), 1024)
    # of each row: whose table it takes, whether it has a child; of each request: its free blocks
    origin, child, free = (context.empty((rows,), int32) for _ in range(3))

    def block_fork(
        *,
        row_start: torch.Tensor,
        live: torch.Tensor,
        prompt_start: torch.Tensor,
        prompt_len: torch.Tensor,
        own: torch.Tensor,
        out: torch.Tensor,
        source: torch.Tensor,
        target: torch.Tensor,
        status: torch.Tensor,
        step: int,
        block_tokens: int,
        parent: torch.Tensor | None = None,
        table: torch.Tensor | None = None,
    ) -> None:
        need_dense_rows(
            "block_fork",
            row_start=row_start, live=live, prompt_start=prompt_start, prompt_len=prompt_len,
            own=own, out=out, source=source, target=target, status=status, parent=parent,
            table=table,
        )  # fmt: skip
        table_row = 0
        if table is not None:
            table_row = table.stride(0)
            _hand_out[(requests,)](
                parent, row_start, live, prompt_len, table, out, source, target, status,
                origin, child, free, table_row, out.stride(0), step,
                TOKENS=block_tokens, BAD=BAD_PARENT, BLOCK_R=block_r,
            )  # fmt: skip
        _copy_tables[(rows, triton.cdiv(columns, block_c))](
            row_start, live, prompt_start, prompt_len, own, table, origin, out, source, target,
            own.stride(0), table_row, out.stride(0), step, requests,
            LATER=table is not None, TOKENS=block_tokens, COLUMNS=columns, OWN=own_columns,
            BLOCK_B=block_b, BLOCK_C=block_c,
        )  # fmt: skip

    return block_fork


@triton.jit(do_not_specialize=["step"])
def _hand_out(
    parent, row_start, live, prompt_len, table, out, source, target, status, origin, child, free,
    table_row, out_row, step,
    TOKENS: tl.constexpr, BAD: tl.constexpr, BLOCK_R: tl.constexpr,
):  # fmt: skip
    """Origin, source and target of a request's rows, and of out the column that is written."""
    b = tl.program_id(0)
    first, end = tl.load(row_start + b), tl.load(row_start + b + 1)
    count = tl.load(live + b)
    if not parents_are_sound(parent, first, end, count, BLOCK_R):
        tl.store(status + b, tl.load(status + b) | BAD)
        count = 0
    token = tl.load(prompt_len + b) + step
    # without a live row nothing forks, and every row keeps its block
    forks = (token % TOKENS > 0) & (count > 0)
    table += token // TOKENS
    out += token // TOKENS

    for at in range(first, end, BLOCK_R):
        row = at + tl.arange(0, BLOCK_R)
        tl.store(child + row, 0, mask=row < end)
    tl.debug_barrier()
    for at in range(first, first + count, BLOCK_R):
        row = at + tl.arange(0, BLOCK_R)
        alive = row < first + count
        tl.store(child + tl.load(parent + row, mask=alive, other=0), 1, mask=alive)
    tl.debug_barrier()
    found = 0
    for at in range(first, end, BLOCK_R):
        row = at + tl.arange(0, BLOCK_R)
        mine = row < end
        childless = mine & (tl.load(child + row, mask=mine, other=1) == 0)
        rank = found + tl.cumsum(childless.to(tl.int32), 0) - 1
        block = tl.load(table + row.to(tl.int64) * table_row, mask=childless, other=0)
        tl.store(free + first + rank, block, mask=childless)
        found += tl.sum(childless.to(tl.int32), 0)
    tl.debug_barrier()
    taken = 0
    for at in range(first, end, BLOCK_R):
        row = at + tl.arange(0, BLOCK_R)
        mine, alive = row < end, row < first + count
        taker = tl.load(parent + row, mask=alive, other=0)
        before = tl.load(parent + row - 1, mask=alive & (row > first), other=-1)
        heir = alive & (taker != before)
        needy = mine & (heir == 0)
        rank = taken + tl.cumsum(needy.to(tl.int32), 0) - 1
        taken += tl.sum(needy.to(tl.int32), 0)
        held = tl.load(table + taker.to(tl.int64) * table_row, mask=alive & forks, other=0)
        given = tl.load(free + first + rank, mask=needy & forks, other=0)
        block = tl.where(heir, held, given)
        copied = alive & needy & forks
        tl.store(out + row.to(tl.int64) * out_row, block, mask=mine & forks)
        tl.store(source + row, tl.where(copied, held, -1), mask=mine)
        tl.store(target + row, tl.where(copied, block, -1), mask=mine)
        # a row without a parent keeps its table; the sign says that the column above is done
        whose = tl.where(alive, taker, row)
        tl.store(origin + row, tl.where(forks, -1 - whose, whose), mask=mine)


@triton.jit(do_not_specialize=["step", "requests"])
def _copy_tables(
    row_start, live, prompt_start, prompt_len, own, table, origin, out, source, target,
    own_row, table_row, out_row, step, requests,
    LATER: tl.constexpr, TOKENS: tl.constexpr, COLUMNS: tl.constexpr, OWN: tl.constexpr,
    BLOCK_B: tl.constexpr, BLOCK_C: tl.constexpr,
):  # fmt: skip
    """The table of a row, but for what `_hand_out` wrote; without a table before, all of it."""
    row, piece = tl.program_id(0), tl.program_id(1)
    b = request_of(row, row_start, requests, BLOCK_B)
    owned = b < requests
    length = tl.load(prompt_len + b, mask=owned, other=0)
    column = piece * BLOCK_C + tl.arange(0, BLOCK_C)
    inside = column < COLUMNS
    wide = row.to(tl.int64)
    own += wide * own_row
    out += wide * out_row
    if LATER:  # noqa: SIM102 - without a table the compiler must not see the one before
        if owned:
            whose = tl.load(origin + row)
            done = whose < 0
            whose = tl.where(done, -1 - whose, whose).to(tl.int64)
            written = (length + step) // TOKENS
            inside = inside & ((column != written) | (done == 0))
            at = tl.where(column < written, whose, wide) * table_row + column
            tl.store(out + column, tl.load(table + at, mask=inside), mask=inside)
            return
    full = length // TOKENS
    first = tl.load(prompt_start + b, mask=owned, other=0) // TOKENS
    mine = tl.load(own + tl.minimum(tl.maximum(column - full, 0), OWN - 1), mask=inside)
    tl.store(out + column, tl.where(column < full, first + column, mine), mask=inside)
    if piece == 0:
        count = tl.load(live + b, mask=owned, other=0)
        copied = (length % TOKENS > 0) & (row < tl.load(row_start + b) + count)
        tl.store(source + row, tl.where(copied, first + full, -1))
        tl.store(target + row, tl.where(copied, tl.load(own), -1))
