"""beam_step: scores of the legal codes in a launch, the best of each request in two or three."""

from __future__ import annotations

from typing import Any

from xgr.backends.ascend.ascendc.beam_sort import Topk
from xgr.backends.ascend.ascendc.catalogue import filter_arguments, level_arguments
from xgr.backends.ascend.ascendc.mask_filter import NORMALIZE, Mask
from xgr.errors import InputError
from xgr.ops.array import Filters, Trie
from xgr.ops.dtype import float32
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """The tilings, and the scores between the launches."""
    a = problem.sizes
    mask, topk = Mask(problem, context), Topk(a["K"], problem, context)
    scores = context.empty((a["R"], a["K"]), float32)

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
        catalogue = level_arguments(trie, level, logits.shape[1])
        mask.launch(
            scores=logits,
            lse=lse if normalize == "vocab" else None,
            normalize=NORMALIZE[normalize],
            node=node,
            row_start=row_start,
            live=live,
            **catalogue,
            **filter_arguments(trie, filters, level),
            out=scores,
        )
        topk.launch(
            scores=scores,
            cumulative=cumulative,
            row_start=row_start,
            live=live,
            row_start_out=row_start_out,
            out_width=out_width,
            node=node,
            **catalogue,
            parent=parent,
            code=code,
            node_out=node_out,
            score=cumulative_out,
            live_out=live_out,
            status=status,
        )

    return beam_step
