"""Tables follow their beams: a gather a request, and a free list by masks."""

from __future__ import annotations

import numpy as np

from xgr.backends.cpu_ref.arrays import Array
from xgr.backends.cpu_ref.parents import sound_requests
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare."""
    return _launch


def _launch(
    *,
    row_start: Array,
    live: Array,
    prompt_start: Array,
    prompt_len: Array,
    own: Array,
    out: Array,
    source: Array,
    target: Array,
    status: Array,
    step: int,
    block_tokens: int,
    parent: Array | None = None,
    table: Array | None = None,
) -> None:
    starts, columns, last = row_start.tolist(), np.arange(out.shape[1]), own.shape[1] - 1
    source[...] = target[...] = -1
    out[starts[-1] :] = own[starts[-1] :, np.minimum(columns, last)]
    if table is None or parent is None:
        for b, (start, length) in enumerate(zip(prompt_start, prompt_len, strict=True)):
            first, (full, within) = start // block_tokens, divmod(int(length), block_tokens)
            rows = slice(starts[b], starts[b + 1])
            out[rows] = own[rows, np.clip(columns - full, 0, last)]
            out[rows, :full] = first + columns[:full]
            if within:
                rows = slice(starts[b], starts[b] + int(live[b]))
                source[rows], target[rows] = first + full, own[rows, 0]
        return
    out[: starts[-1]] = table[: starts[-1]]
    ends = dict(zip(starts, range(len(starts)), strict=True))
    for rows in sound_requests(parent, row_start, live, status):
        b = ends[rows.start]
        column, within = divmod(int(prompt_len[b]) + step, block_tokens)
        parents = parent[rows]
        out[rows, :column] = table[parents, :column]
        if within == 0:
            continue  # the block is a new one
        every = slice(rows.start, starts[b + 1])
        held = table[every, column]
        free = np.ones(len(held), np.bool_)
        free[parents - rows.start] = False
        heir = np.zeros(len(held), np.bool_)
        heir[: len(parents)] = np.diff(parents, prepend=-1) != 0
        begin, end = table[parents, column], out[every, column]
        end[heir] = begin[heir[: len(parents)]]
        end[~heir] = held[free]
        copied = ~heir[: len(parents)]
        source[rows] = np.where(copied, begin, -1)
        target[rows] = np.where(copied, end[: len(parents)], -1)
