"""beam_sort by the kernels of beam_step: every column a candidate, nothing to normalise."""

from __future__ import annotations

from typing import Any

from xgr.backends.cuda.beam_step.selector import Selector
from xgr.backends.cuda.catalogue.level import NOTHING
from xgr.backends.cuda.strides import need_dense_rows
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Workspaces for the rows, columns and output rows of the problem."""
    sizes = problem.sizes
    selector = Selector(
        context,
        requests=sizes["B"],
        rows=sizes["R"],
        columns=sizes["C"],
        targets=sizes["RO"],
        ranked=problem.flag("order") == "rank",
        strict=True,
    )

    def beam_sort(
        *,
        scores: Any,
        cumulative: Any,
        row_start: Any,
        live: Any,
        row_start_out: Any,
        out_width: Any,
        order: str,
        parent: Any,
        code: Any,
        score: Any,
        live_out: Any,
    ) -> None:
        """Keep the best candidates of each request."""
        need_dense_rows(
            "beam_sort", cumulative=cumulative, row_start=row_start, live=live,
            row_start_out=row_start_out, out_width=out_width, parent=parent, code=code,
            score=score, live_out=live_out,
        )  # fmt: skip
        selector.launch(
            logits=scores,
            cumulative=cumulative,
            node=None,
            row_start=row_start,
            live=live,
            row_start_out=row_start_out,
            out_width=out_width,
            outputs={
                "parent_out": parent,
                "code_out": code,
                "node_out": None,
                "score_out": score,
            },
            live_out=live_out,
            status=None,
            level=NOTHING,
            normalize="none",
        )

    return beam_sort
