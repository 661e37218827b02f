"""Seeded random block tables for the cases of the paged ops.

A case has the axes R, B, NP (blocks of the pool), BT (tokens of a block) and MB (columns of a
table). The flag `prompt` is "ragged" (the second prompt empty, the third one token long), "full"
(with `step` tokens behind it, it fills the table) or "empty".
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from xgr.ops.layouts import Ints, dead
from xgr.ops.spec import Case


def lengths(case: Case, rng: np.random.Generator, room: int) -> Ints:
    """Prompt_len [B], at most `room` tokens each."""
    requests, kind = case.sizes["B"], case.flags.get("prompt", "ragged")
    if kind != "ragged":
        return np.full(requests, room if kind == "full" else 0, np.int32)
    drawn = rng.integers(room // 2, room, requests, endpoint=True).astype(np.int32)
    drawn[1:2], drawn[2:3] = 0, min(1, room)
    return drawn


def tables(case: Case, batch: Mapping[str, Ints], rng: np.random.Generator) -> tuple[Ints, Ints]:
    """(prompt_len [B], block_table [R, MB]): the rows of a request share its prompt's full blocks.

    Dead rows and rows of nobody name no block.
    """
    a, step = case.sizes, int(case.flags["step"])
    tokens = a["BT"]
    prompt_len = lengths(case, rng, a["MB"] * tokens - step)
    # where the pool has no more, a block that others name too
    free = iter(rng.permutation(a["NP"]))
    table = np.full((a["R"], a["MB"]), 1 << 30, np.int32)
    for first, count, length in zip(batch["row_start"], batch["live"], prompt_len, strict=False):
        full, used = length // tokens, -(-(length + step) // tokens)
        rows = slice(first, first + count)
        if count:
            table[rows, :full] = [next(free, 0) for _ in range(full)]
        own = [next(free, 0) for _ in range(count * (used - full))]
        table[rows, full:used] = np.reshape(own, (count, used - full))
    return prompt_len, table


def unseen(
    case: Case, batch: Mapping[str, Ints], prompt_len: Ints, table: Ints
) -> NDArray[np.bool_]:
    """Whether each token [NP, BT] of the pool is read by no live row."""
    a, step = case.sizes, int(case.flags["step"])
    mask = np.ones((a["NP"], a["BT"]), np.bool_)
    of_row = np.repeat(np.arange(a["B"]), np.diff(batch["row_start"]))
    for row in np.flatnonzero(~dead(batch, a["R"])):
        token = np.arange(prompt_len[of_row[row]] + step)
        mask[table[row, token // a["BT"]], token % a["BT"]] = False
    return mask
