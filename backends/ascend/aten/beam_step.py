"""beam_step over the children of every row: log-softmax, filters, stable sorts, next node."""

from __future__ import annotations

import torch
from torch import Tensor

from xgr.backends.ascend.aten.children import Catalogue, Children
from xgr.backends.ascend.aten.normalizer import log_sum_exp
from xgr.backends.ascend.aten.rows import Rows, counting, mark
from xgr.backends.ascend.aten.selection import Selection, clamped, not_numbers
from xgr.backends.ascend.aten.swaps import Swaps
from xgr.errors import InputError
from xgr.ops.array import Filters, Trie
from xgr.ops.beam_step import NAN_LOGIT
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Numbers of the rows and the codes."""
    sizes = problem.sizes
    rows = Rows(context, sizes["R"], sizes["B"])
    catalogue = Catalogue(context, rows, sizes["K"])
    columns = counting(context, sizes["K"])
    ranked = problem.flag("order") == "rank"
    selection = Selection(context, rows, sizes["K"], sizes["RO"], ranked)
    swaps = Swaps()

    def beam_step(
        *,
        logits: Tensor,
        cumulative: Tensor,
        node: Tensor,
        row_start: Tensor,
        live: Tensor,
        row_start_out: Tensor,
        out_width: Tensor,
        level: int,
        normalize: str,
        order: str,
        parent: Tensor,
        code: Tensor,
        node_out: Tensor,
        cumulative_out: Tensor,
        live_out: Tensor,
        status: Tensor,
        lse: Tensor | None = None,
        trie: Trie | None = None,
        filters: Filters | None = None,
    ) -> None:
        """Extend the beams of each request by one code."""
        owner = rows.owner(row_start)
        alive = rows.alive(owner, row_start, live)
        children: Children | None = None
        if trie is None:
            picked = logits.to(torch.float32)
            legal = alive[:, None].expand(picked.shape)
        else:
            swaps.follow(trie)
            children = catalogue.children(trie, level, node, alive)
            picked, legal = logits.gather(1, children.code).to(torch.float32), children.legal
        if normalize == "vocab":
            if lse is None:
                raise InputError('beam_step: normalize="vocab" needs the argument lse')
            picked = picked - lse[:, None]
        elif normalize == "level":
            picked = picked - log_sum_exp(logits.to(torch.float32))
        elif normalize == "children":
            picked = picked - log_sum_exp(picked.masked_fill(~legal, -torch.inf))
        # two roundings, as defined
        total = cumulative[:, None] + picked
        if children is not None and filters is not None:
            legal = legal & catalogue.kept(children, filters, level, owner)

        wrong = rows.of_request(owner) & not_numbers(total, legal)
        failed = mark(wrong, status, NAN_LOGIT)
        # what is NaN is of a request that failed; a legal -inf is the least score
        legal = legal & (total < torch.inf)
        chosen = selection.choose(
            clamped(total, legal), failed, owner, row_start, row_start_out, out_width
        )
        dead = ~chosen.alive
        parent.copy_(torch.where(dead, chosen.first, chosen.row.to(torch.int32)))
        cumulative_out.copy_(chosen.score)
        live_out.copy_(chosen.live)
        if children is None:
            code.copy_(chosen.column.masked_fill(dead, 0))
            node_out.fill_(0).masked_fill_(dead, -1)
            return
        at = chosen.row * columns.shape[0] + chosen.column
        found = children.code.view(-1).index_select(0, at)
        code.copy_(found.masked_fill_(dead, 0))
        node_out.copy_(children.node.view(-1).index_select(0, at).masked_fill_(dead, -1))

    return beam_step
