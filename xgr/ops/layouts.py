"""Seeded random batches for the cases: rows, prompts, parents. What an op may not read is NaN.

Flags that the layouts of rows, prompts and queries understand:
    live: "mixed" (all, none, one, some in turn), "all" or "none".
    spare: rows of nobody behind the last request.
    widths: "ragged" or "even" (the rows shared out evenly).
    prompt: "ragged" (gaps between prompts, arena order unlike request order, the second prompt
        empty and the third one token long), "full" (the arena shared out evenly) or "empty".
    cached: part of each prompt is no query.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from xgr.ops.spec import Case, Flag

Array = NDArray[Any]
Ints = NDArray[np.int32]

# of a request: both sides of every size that a kernel may take at once
WIDTHS = (1, 31, 32, 33, 63, 64, 65, 127, 128, 129, 511, 512, 513, 1023, 1024, 1025)

NUMPY_TYPES: dict[str, Any] = {
    "float32": np.float32,
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
}


def case(op: str, base: Mapping[str, int], dtype: str = "float32", /, **changes: Flag) -> Case:
    """A case of base's sizes with changes: names of axes change sizes, others are flags."""
    sizes = {axis: int(changes.get(axis, size)) for axis, size in base.items()}
    flags = {name: value for name, value in changes.items() if name not in base}
    return Case(op, sizes, dtype, flags)


def normal(
    rng: np.random.Generator, case: Case, axes: str, dtype: str = "", gain: Flag | float = 1
) -> Array:
    """Normal numbers of standard deviation `gain` over named axes, of the case's dtype."""
    values = rng.standard_normal([case.sizes[a] for a in axes.split()]) * float(gain)
    result: Array = values.astype(NUMPY_TYPES[dtype or case.dtype])
    return result


def heads(rng: np.random.Generator, case: Case, count: int) -> Array:
    """Qkv [count, (H + 2 G) d] of a fused projection."""
    a = case.sizes
    shape = count, (a["H"] + 2 * a["G"]) * a["d"]
    values = rng.standard_normal(shape) * float(case.flags.get("gain", 1))
    result: Array = values.astype(NUMPY_TYPES[case.dtype])
    return result


def rotation(rng: np.random.Generator, case: Case, positions: int) -> dict[str, Array]:
    """Cos and sin [positions, d / 2], and with the flag `norm` q_norm and k_norm [d]."""
    angle = rng.uniform(-np.pi, np.pi, (positions, case.sizes["d"] // 2))
    values = {"cos": np.cos(angle).astype(np.float32), "sin": np.sin(angle).astype(np.float32)}
    if case.flags.get("norm"):
        values |= {name: normal(rng, case, "d") for name in ("q_norm", "k_norm")}
    return values


def stream(rng: np.random.Generator, case: Case, unread: NDArray[np.bool_]) -> dict[str, Array]:
    """Hidden [rows, n] of standard deviation 3 where the flag `hidden` is an n; NaN if unread."""
    if not case.flags.get("hidden"):
        return {}
    values = 3 * rng.standard_normal((len(unread), int(case.flags["hidden"])))
    values[unread] = np.nan
    return {"hidden": values.astype(NUMPY_TYPES[case.dtype])}


def rows(case: Case, rng: np.random.Generator) -> dict[str, Ints]:
    """row_start [B + 1] and live [B] of a case with axes R and B."""
    requests = case.sizes["B"]
    owned = case.sizes["R"] - int(case.flags.get("spare", 0))
    if case.flags.get("widths", "ragged") == "even":
        row_start = np.arange(requests + 1, dtype=np.int32) * owned // requests
    else:
        cuts = np.sort(rng.choice(np.arange(1, owned), requests - 1, replace=False))
        row_start = np.array([0, *cuts, owned], np.int32)
    width = np.diff(row_start)
    kind = case.flags.get("live", "mixed")
    if kind == "all":
        live = width
    elif kind == "none":
        live = np.zeros(requests, np.int32)
    else:
        some = rng.integers(1, width + 1)
        turn = np.arange(requests) % 4
        live = np.choose(turn, [width, np.zeros_like(width), np.ones_like(width), some])
    return {"row_start": row_start, "live": live.astype(np.int32)}


def dead(batch: Mapping[str, Ints], size: int) -> NDArray[np.bool_]:
    """Whether each of `size` rows is dead or nobody's."""
    mask = np.ones(size, np.bool_)
    for first, count in zip(batch["row_start"], batch["live"], strict=False):
        mask[first : first + count] = False
    return mask


def prompts(case: Case, rng: np.random.Generator) -> dict[str, Ints]:
    """prompt_start [B] and prompt_len [B] of a case with axes T and B."""
    requests, tokens = case.sizes["B"], case.sizes["T"]
    room = tokens // requests
    order = rng.permutation(requests)
    start, length = order * room, np.full(requests, room)
    if case.flags.get("prompt", "ragged") == "ragged":
        gap = 1 if room > 1 else 0
        start, length = start + gap, rng.integers(room // 2, room - gap, requests, endpoint=True)
        length[1:2], length[2:3] = 0, min(1, room - gap)
    if case.flags.get("prompt") == "empty":
        length[:] = 0
    return {"prompt_start": start.astype(np.int32), "prompt_len": length.astype(np.int32)}


def outside(batch: Mapping[str, Ints], tokens: int) -> NDArray[np.bool_]:
    """Whether each token of the arena is in no prompt."""
    mask = np.ones(tokens, np.bool_)
    for start, length in zip(batch["prompt_start"], batch["prompt_len"], strict=True):
        mask[start : start + length] = False
    return mask


def queries(case: Case, batch: Mapping[str, Ints], rng: np.random.Generator) -> dict[str, Ints]:
    """q_start [B + 1] of a case with axis N: the last tokens of each prompt, as many as fit."""
    length = batch["prompt_len"]
    counts = length
    if case.flags.get("cached"):
        counts = np.where(length > 1, rng.integers(1, np.maximum(length, 2)), length)
    ends = np.minimum(np.cumsum(counts), case.sizes["N"])
    return {"q_start": np.array([0, *ends], np.int32)}


def ancestors(case: Case, batch: Mapping[str, Ints], rng: np.random.Generator) -> Ints:
    """Rows [R, S] of the same request, the row itself where nobody owns it."""
    size, slots = case.sizes["R"], case.sizes["S"]
    result = np.repeat(np.arange(size, dtype=np.int32)[:, None], slots, axis=1)
    row_start = batch["row_start"]
    for first, end in pairwise(row_start):
        result[first:end] = rng.integers(first, end, (end - first, slots))
    return result


def parents(case: Case, batch: Mapping[str, Ints], rng: np.random.Generator) -> Ints:
    """Parent [R], ascending within each request's rows; dead rows hold nonsense.

    The flag `parents` is "random", "first" (all of a request's first row), "last", "own", or, to
    break the first request: "unsorted", "below" or "above" its rows.
    """
    kind = case.flags.get("parents", "random")
    row_start, live = batch["row_start"], batch["live"]
    result = np.full(case.sizes["R"], 1 << 30, np.int32)
    for request, count in enumerate(live):
        first, end = row_start[request : request + 2]
        mine = np.sort(rng.integers(first, end, count))
        if kind == "first":
            mine[:] = first
        elif kind == "last":
            mine[:] = end - 1
        elif kind == "own":
            mine = np.arange(first, first + count)
        if request == 0 and kind in {"unsorted", "below", "above"}:
            mine = np.arange(first, first + count)
            if kind == "unsorted":
                mine[:2] = mine[1::-1]
            elif kind == "below":
                mine[0] = first - 1
            else:
                mine[-1] = end
        result[first : first + count] = mine
    return result
