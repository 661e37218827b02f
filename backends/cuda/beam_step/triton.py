"""beam_step as two passes over tiles of children, and one to rank survivors."""

from __future__ import annotations

from typing import Any

from xgr.backends.cuda.beam_step.selector import Selector
from xgr.backends.cuda.catalogue.level import NOTHING, level_arguments
from xgr.backends.cuda.strides import need_dense_rows
from xgr.errors import InputError
from xgr.ops.array import Filters, Trie
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Workspaces for the rows, codes and output rows of the problem."""
    sizes = problem.sizes
    selector = Selector(
        context,
        requests=sizes["B"],
        rows=sizes["R"],
        columns=sizes["K"],
        targets=sizes["RO"],
        ranked=problem.flag("order") == "rank",
        filtered=bool(problem.flag("filters")),
    )

    def beam_step(
        *,
        logits: Any,
        cumulative: Any,
        node: Any,
        row_start: Any,
        live: Any,
        row_start_out: Any,
        out_width: Any,
        level: int,
        normalize: str,
        order: str,
        parent: Any,
        code: Any,
        node_out: Any,
        cumulative_out: Any,
        live_out: Any,
        status: Any,
        lse: Any = None,
        trie: Trie | None = None,
        filters: Filters | None = None,
    ) -> None:
        """Extend the beams of each request by one code."""
        if normalize == "vocab" and lse is None:
            raise InputError('beam_step: normalize="vocab" needs the argument lse')
        need_dense_rows(
            "beam_step", lse=lse, cumulative=cumulative, node=node, row_start=row_start, live=live,
            row_start_out=row_start_out, out_width=out_width, parent=parent, code=code,
            node_out=node_out, cumulative_out=cumulative_out, live_out=live_out, status=status,
        )  # fmt: skip
        selector.launch(
            logits=logits,
            cumulative=cumulative,
            node=node,
            row_start=row_start,
            live=live,
            row_start_out=row_start_out,
            out_width=out_width,
            outputs={
                "parent_out": parent,
                "code_out": code,
                "node_out": node_out,
                "score_out": cumulative_out,
            },
            live_out=live_out,
            status=status,
            level=NOTHING
            if trie is None
            else level_arguments(trie, filters, level, logits.shape[1]),
            normalize=normalize,
            lse=lse if normalize == "vocab" else None,
        )

    return beam_step
