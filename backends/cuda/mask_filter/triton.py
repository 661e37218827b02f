"""mask_filter: a row is cleared, then its legal children are copied."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, misc"
# Kernels are typed by Triton, which has no types of Python's.

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

from xgr.backends.cuda.beam_step.keys import clamped
from xgr.backends.cuda.catalogue.level import children_of, codes_of, kept, level_arguments, run_of
from xgr.backends.cuda.rows import request_of
from xgr.backends.cuda.strides import need_dense_rows
from xgr.ops.array import Filters, Trie
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher

BLOCK = 1024


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare but the number of requests that a block looks through."""
    rows, requests, columns = (problem.sizes[axis] for axis in ("R", "B", "K"))
    lanes = 1 << max(requests - 1, 0).bit_length()

    def mask_filter(
        *,
        scores: Any,
        node: Any,
        row_start: Any,
        live: Any,
        trie: Trie,
        level: int,
        out: Any,
        filters: Filters | None = None,
    ) -> None:
        """Copy the scores of legal children, at least -1e30; all else is -inf."""
        need_dense_rows("mask_filter", node=node, row_start=row_start, live=live)
        _mask_rows[(rows,)](
            scores=scores,
            scores_row=scores.stride(0),
            scores_code=scores.stride(1),
            out=out,
            out_row=out.stride(0),
            out_code=out.stride(1),
            node=node,
            row_start=row_start,
            live=live,
            **level_arguments(trie, filters, level, columns),
            B=requests,
            K=columns,
            ROOT=level == 0,
            REQUESTS=lanes,
            BLOCK=BLOCK,
        )

    return mask_filter


@triton.jit(do_not_specialize=["level", "nodes_here", "nodes_above", "B", "K"])
def _mask_rows(
    scores,
    scores_row,
    scores_code,
    out,
    out_row,
    out_code,
    node,
    row_start,
    live,
    descriptor,
    code,
    first_child,
    words,
    kind,
    mask,
    list_start,
    listed,
    level,
    nodes_here,
    nodes_above,
    mask_pitch,
    B,
    K,
    ROOT: tl.constexpr,
    REQUESTS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Grid (R)."""
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    scores += row.to(tl.int64) * scores_row
    out += row.to(tl.int64) * out_row
    nothing = tl.full([BLOCK], -float("inf"), tl.float32)
    for at in range(0, K, BLOCK):
        column = at + lanes
        tl.store(out + column.to(tl.int64) * out_code, nothing, mask=column < K)
    request = request_of(row, row_start, B, REQUESTS)
    belongs = request < B
    first = tl.load(row_start + request, mask=belongs, other=0)
    if row - first >= tl.load(live + request, mask=belongs, other=0):
        return
    low, count = children_of(
        tl.load(node + row), descriptor, first_child, nodes_here, nodes_above, level, ROOT
    )
    code = codes_of(descriptor, code, level)
    if kind is not None:
        rule, begin, end = run_of(request, low, count, kind, list_start, listed)
        slot = tl.load(mask + request)
    # children are written over what other threads of the block cleared
    tl.debug_barrier()
    for at in range(0, count, BLOCK):
        entry = at + lanes
        alive = entry < count
        column = tl.load(code + low + entry, mask=alive, other=0)
        if kind is not None:
            alive = kept(
                low + entry, alive, rule, begin, end, listed, slot,
                descriptor, words, mask_pitch, level,
            )  # fmt: skip
        place = column.to(tl.int64)
        score = tl.load(scores + place * scores_code, mask=alive, other=0.0)
        tl.store(out + place * out_code, clamped(score), mask=alive)
