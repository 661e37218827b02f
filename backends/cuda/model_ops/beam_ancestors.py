# Triton's language has no types:
# mypy: disable-error-code="no-untyped-def,untyped-decorator"
"""beam_ancestors: a program a request, and one for the rows of nobody."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from xgr.backends.cuda.rows import parents_are_sound
from xgr.backends.cuda.strides import need_dense_rows
from xgr.ops.kv_reorder import BAD_PARENT
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Rows are walked in blocks, as widths are known on the device only."""
    sizes = problem.sizes
    requests, rows, slots = sizes["B"], sizes["R"], sizes["S"]
    block_r = min(triton.next_power_of_2(rows), 512)
    block_s = triton.next_power_of_2(slots)

    def beam_ancestors(
        *,
        ancestors: torch.Tensor,
        parent: torch.Tensor,
        row_start: torch.Tensor,
        live: torch.Tensor,
        out: torch.Tensor,
        status: torch.Tensor,
        step: int,
    ) -> None:
        need_dense_rows(
            "beam_ancestors",
            ancestors=ancestors, parent=parent, row_start=row_start, live=live, out=out,
            status=status,
        )  # fmt: skip
        _beam_ancestors[(requests + 1,)](
            ancestors, parent, row_start, live, out, status, ancestors.stride(0), out.stride(0),
            step, requests, rows, slots, BAD=BAD_PARENT, BLOCK_R=block_r, BLOCK_S=block_s,
        )  # fmt: skip

    return beam_ancestors


@triton.jit(do_not_specialize=["step", "requests", "rows"])
def _beam_ancestors(
    ancestors, parent, row_start, live, out, status, in_stride, out_stride, step, requests, rows,
    SLOTS: tl.constexpr, BAD: tl.constexpr, BLOCK_R: tl.constexpr, BLOCK_S: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(0)
    mine = b < requests
    first = tl.load(row_start + b)
    end = tl.load(row_start + b + 1, mask=mine, other=rows)
    count = tl.load(live + b, mask=mine, other=0)
    if not parents_are_sound(parent, first, end, count, BLOCK_R):
        tl.store(status + b, tl.load(status + b) | BAD)
        count = 0  # every row is its own
    slot = tl.arange(0, BLOCK_S)[None, :]
    for at in range(first, end, BLOCK_R):
        row = at + tl.arange(0, BLOCK_R)
        alive = row < first + count
        source = tl.load(parent + row, mask=alive, other=0).to(tl.int64)
        old = tl.load(
            ancestors + source[:, None] * in_stride + slot,
            mask=alive[:, None] & (slot < step),
            other=0,
        )
        value = tl.where(alive[:, None] & (slot < step), old, row[:, None])
        place = out + row.to(tl.int64)[:, None] * out_stride + slot
        tl.store(place, value, mask=(row < end)[:, None] & (slot < SLOTS))
