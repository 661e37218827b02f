# Triton's language has no types:
# mypy: disable-error-code="no-untyped-def,untyped-decorator"
"""kv_append: a program a row and a head."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from xgr.backends.cuda.rows import request_of
from xgr.backends.cuda.strides import need_dense_rows
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Rows, heads and requests are fixed; `live` is read on the device."""
    sizes = problem.sizes
    requests, size = sizes["B"], sizes["d"]
    grid = (sizes["R"], sizes["G"])
    block, block_b = triton.next_power_of_2(size), triton.next_power_of_2(requests)

    def kv_append(
        *,
        k_new: torch.Tensor,
        v_new: torch.Tensor,
        row_start: torch.Tensor,
        live: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        step: int,
    ) -> None:
        need_dense_rows(
            "kv_append", k_new=k_new, v_new=v_new, row_start=row_start, live=live, k=k, v=v
        )
        _kv_append[grid](
            k_new, v_new, row_start, live, k, v, *k_new.stride()[:2], *v_new.stride()[:2],
            *k.stride()[:3], *v.stride()[:3], step, requests, size,
            BLOCK=block, BLOCK_B=block_b, num_warps=1,
        )  # fmt: skip

    return kv_append


@triton.jit(do_not_specialize=["step", "requests"])
def _kv_append(
    k_new, v_new, row_start, live, k, v,
    k_new_row, k_new_head, v_new_row, v_new_head,
    k_row, k_slot, k_head, v_row, v_slot, v_head, step, requests,
    SIZE: tl.constexpr, BLOCK: tl.constexpr, BLOCK_B: tl.constexpr,
):  # fmt: skip
    row, head = tl.program_id(0), tl.program_id(1)
    b = request_of(row, row_start, requests, BLOCK_B)
    count = tl.load(live + b, mask=b < requests, other=0)
    alive = row < tl.load(row_start + b) + count
    at = tl.arange(0, BLOCK)
    mask = (at < SIZE) & alive
    row = row.to(tl.int64)
    value = tl.load(k_new + row * k_new_row + head * k_new_head + at, mask=mask)
    tl.store(k + row * k_row + step * k_slot + head * k_head + at, value, mask=mask)
    value = tl.load(v_new + row * v_new_row + head * v_new_head + at, mask=mask)
    tl.store(v + row * v_row + step * v_slot + head * v_head + at, value, mask=mask)
