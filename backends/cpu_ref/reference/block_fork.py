"""Definition of block_fork."""

from __future__ import annotations

import numpy as np

from xgr.backends.cpu_ref.arrays import Array
from xgr.backends.cpu_ref.parents import sound_requests
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare."""
    return block_fork


def block_fork(
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
    """Tables of the prompts, or of the parents."""
    rows, columns = out.shape
    last = own.shape[1] - 1
    source[...] = target[...] = -1
    for r in range(rows):
        for j in range(columns):
            out[r, j] = own[r, min(j, last)]
    if table is None or parent is None:
        _from_prompts(row_start, live, prompt_start, prompt_len, own, out, source, target,
                      block_tokens)  # fmt: skip
        return
    owned = row_start[-1]
    out[:owned] = table[:owned]
    sound = {rows.start: rows for rows in sound_requests(parent, row_start, live, status)}
    for b in range(live.size):
        mine, end = sound.get(int(row_start[b])), row_start[b + 1]
        if mine is None or mine.start == mine.stop:
            continue
        column, within = divmod(int(prompt_len[b]) + step, block_tokens)
        for r in range(mine.start, mine.stop):
            out[r, :column] = table[parent[r], :column]
        if within == 0:
            continue  # the block is a new one
        parents = parent[mine].tolist()
        free = [table[r, column] for r in range(mine.start, end) if r not in parents]
        for r in range(mine.start, end):
            heir = r < mine.stop and (r == mine.start or parent[r] != parent[r - 1])
            out[r, column] = table[parent[r], column] if heir else free.pop(0)
            if r < mine.stop and not heir:
                source[r], target[r] = table[parent[r], column], out[r, column]


def _from_prompts(
    row_start: Array,
    live: Array,
    prompt_start: Array,
    prompt_len: Array,
    own: Array,
    out: Array,
    source: Array,
    target: Array,
    block_tokens: int,
) -> None:
    columns, last = np.arange(out.shape[1]), own.shape[1] - 1
    for b in range(live.size):
        first = prompt_start[b] // block_tokens
        full, within = divmod(int(prompt_len[b]), block_tokens)
        for r in range(row_start[b], row_start[b + 1]):
            mine = own[r, np.clip(columns - full, 0, last)]
            out[r] = np.where(columns < full, first + columns, mine)
            if within and r < row_start[b] + live[b]:
                source[r], target[r] = first + full, own[r, 0]
