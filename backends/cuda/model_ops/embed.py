# Triton's language has no types:
# mypy: disable-error-code="no-untyped-def,untyped-decorator"
"""embed: rows of a table, through a map from codes to token ids where there is one."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from xgr.backends.cuda.strides import need_dense_rows
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """A program a piece of a row."""
    sizes = problem.sizes
    size, table_rows, codes = sizes["h"], sizes["V"], sizes.get("M", 0)
    block = min(triton.next_power_of_2(size), 2048)
    grid = (sizes["N"], triton.cdiv(size, block))

    def embed(
        *,
        ids: torch.Tensor,
        table: torch.Tensor,
        out: torch.Tensor,
        map: torch.Tensor | None = None,
    ) -> None:
        need_dense_rows("embed", ids=ids, table=table, map=map, out=out)
        _embed[grid](
            ids, ids if map is None else map, table, out, table.stride(0), out.stride(0),
            table_rows, codes, size, MAP=map is not None, BLOCK=block,
        )  # fmt: skip

    return embed


@triton.jit(do_not_specialize=["table_rows", "codes"])
def _embed(
    ids, map, table, out, table_stride, out_stride, table_rows, codes,
    SIZE: tl.constexpr, MAP: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = at < SIZE
    index = tl.load(ids + row)
    if MAP:
        index = tl.load(map + index, mask=(index >= 0) & (index < codes), other=-1)
    known = (index >= 0) & (index < table_rows)
    place = table + index.to(tl.int64) * table_stride + at
    value = tl.load(place, mask=inside & known, other=0)
    tl.store(out + row * out_stride + at, value, mask=inside)
