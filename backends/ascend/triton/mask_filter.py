"""mask_filter: a block of columns is compared with the codes of the legal children among them."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
# Triton compiles `mask_kernel` from its source; its arguments are no Python values

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

from xgr.backends.ascend.triton.catalogue import (
    GROUP,
    children_of,
    codes_of,
    kept,
    level_arguments,
    words_of,
)
from xgr.backends.ascend.triton.grid import vector_cores
from xgr.backends.ascend.triton.selection import power_of_two
from xgr.backends.ascend.triton.strides import dense
from xgr.ops.array import Filters, Trie
from xgr.ops.beam_step import LEAST
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher

# columns of a block: with a group of children they are compared all with all
BLOCK = 256

_LEAST = tl.constexpr(LEAST)


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare but the block."""
    rows, requests, columns = (problem.sizes[axis] for axis in ("R", "B", "K"))
    block = min(BLOCK, max(16, power_of_two(columns)))
    grid = (vector_cores(),)

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
        for name, tensor in (("node", node), ("row_start", row_start), ("live", live)):
            dense(name, tensor)
        mask_kernel[grid](
            scores, node, row_start, live, out,
            **level_arguments(trie, filters, level, columns),
            rows=rows, requests=requests, columns=columns,
            scores_row=dense("scores", scores)[0], out_row=dense("out", out)[0],
            ROOT=level == 0, BLOCK=block,
        )  # fmt: skip

    return mask_filter


@triton.jit(
    do_not_specialize=[
        "level", "nodes_here", "nodes_above", "mask_pitch", "rows", "requests", "columns",
        "scores_row", "out_row",
    ]
)  # fmt: skip
def mask_kernel(
    scores, node, row_start, live, out,
    descriptor, code, first_child, words, kind, mask, list_start, listed,
    level, nodes_here, nodes_above, mask_pitch,
    rows, requests, columns, scores_row, out_row,
    ROOT: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Rows, dealt to the programs in turn.

    What it takes:
        scores, out: float32 [rows, columns], may be the same.
        node, row_start, live: int32 as `xgr.ops.mask_filter` declares them.
        descriptor .. mask_pitch: see `level_arguments`.
        ROOT: the rows are requests, and every node of the level is a child.
    """
    lanes = tl.arange(0, BLOCK)
    members = tl.arange(0, GROUP)
    codes = codes_of(descriptor, code, level)
    if kind is not None:
        bits, pitch = words_of(descriptor, words, mask_pitch, level)
    for b in range(0, requests + 1):
        # rows of nobody are those of one more request, none of them live
        request = tl.minimum(b, requests - 1)
        mine = b < requests
        first = tl.load(row_start + b)
        end = tl.where(mine, tl.load(row_start + tl.minimum(b + 1, requests)), rows)
        count = tl.where(mine, tl.load(live + request), 0)
        programs = tl.num_programs(0)
        turn = (tl.program_id(0) + programs - first % programs) % programs
        for at in range(turn, end - first, programs):
            row = (first + at).to(tl.int64)
            low, children = children_of(
                tl.load(node + row), descriptor, first_child, nodes_here, nodes_above, level, ROOT
            )
            children = tl.where(at < count, children, 0)
            for column in range(0, columns, BLOCK):
                legal = tl.zeros((BLOCK,), tl.int32)
                for group in range(low // GROUP * GROUP, low + children, GROUP):
                    least = tl.load(codes + tl.maximum(group, low))
                    most = tl.load(codes + tl.minimum(group + GROUP, low + children) - 1)
                    if (most >= column) & (least < column + BLOCK):
                        child = group + members
                        alive = (child >= low) & (child < low + children)
                        if kind is not None:
                            alive = kept(
                                child, alive, group, tl.load(kind + request),
                                tl.load(list_start + request), tl.load(list_start + request + 1),
                                listed, tl.load(mask + request),
                                bits, pitch,
                            )  # fmt: skip
                        mine_codes = tl.load(
                            codes + group + members,
                            mask=(members >= low - group) & (members < low + children - group),
                            other=-1,
                        )
                        mine_codes = tl.where(alive, mine_codes, -1)
                        same = mine_codes[:, None] == (column + lanes)[None, :]
                        legal = tl.maximum(legal, tl.max(same.to(tl.int32), axis=0))
                inside = lanes < columns - column
                score = tl.load(scores + row * scores_row + column + lanes, mask=inside, other=0.0)
                # a NaN is not below, and stays
                score = tl.where(score < _LEAST, _LEAST, score)
                score = tl.where(legal == 1, score, float("-inf"))
                tl.store(out + row * out_row + column + lanes, score, mask=inside)
