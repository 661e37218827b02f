"""Seeded random beams for the cases of mask_filter, beam_sort and beam_step.

Flags of a case, all optional:
    level: 0 to 2; the rows of level 0 are the requests.
    live: "all", "some" (from none to all) or "none".
    nobody: rows at the end that belong to no request.
    width: "full" (every output row), "ragged" (half, all, none, one) or "over" (more than rows).
    data: kind of the scores, see `scores`.
    items, chains: size of the catalogue, and whether most of its nodes have one child.
    children: "edges" gives the nodes above level 1 `EDGES` children, and each node a row in turn.
    missing: some rows have a node that does not exist.
    filters: "exclude", "allow", "mask", "mixed", or "nothing" left alive.
    trie: False for no catalogue.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from xgr.ops.array import ALLOW, EXCLUDE, KEEP_ALL, Filters, Trie
from xgr.ops.spec import Case
from xgr.ops.tries import children_of, filters_of, random_sids, sids_of, trie_of

Ints = NDArray[np.int32]
Floats = NDArray[np.float32]
Rng = np.random.Generator

# what dead rows and rows of nobody hold: reading it shows in the result
NOWHERE = 1 << 30

# children of a node, around what kernels take at once
EDGES = (1, 7, 8, 9, 31, 32, 33, 63, 64, 65, 255, 256, 257)

_TYPES: dict[str, Any] = {
    "float32": np.float32,
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
}


@dataclass(frozen=True, slots=True)
class Batch:
    """Beams of B requests.

    Attributes:
        level: their level.
        trie, filters: host arrays; None where the case has none.
        node: int32 [R].
        row_start, live: int32 [B + 1], [B].
        is_live: bool [R].
        row_start_out, out_width: int32 [B + 1], [B].
        cumulative: float32 [R].
    """

    level: int
    trie: Trie | None
    filters: Filters | None
    node: Ints
    row_start: Ints
    live: Ints
    is_live: NDArray[np.bool_]
    row_start_out: Ints
    out_width: Ints
    cumulative: Floats


def batch(rng: Rng, case: Case) -> Batch:
    """The batch of a case with axes B, R, RO (R when absent) and K (C where there is no trie)."""
    flags, sizes = case.flags, case.sizes
    requests, rows = sizes["B"], sizes["R"]
    level, nobody = int(flags.get("level", 1)), int(flags.get("nobody", 0))
    live_kind = str(flags.get("live", "all"))

    row_start: Ints = np.arange(requests + 1, dtype=np.int32)
    if level > 0:
        row_start = _row_start(rng, rows, requests, nobody)
    live = _live(rng, row_start, live_kind)
    is_live = np.zeros(rows, np.bool_)
    for first, count in zip(row_start[:-1], live, strict=True):
        is_live[first : first + count] = True

    trie = None if flags.get("trie") is False or "K" not in sizes else _catalogue(rng, case, level)
    filters = _filters(rng, trie, str(flags.get("filters", "")), requests)
    node = np.full(rows, NOWHERE, np.int32)
    if trie is not None and level > 0:
        node = _nodes(rng, trie, is_live, case)

    row_start_out = _row_start(rng, sizes.get("RO", rows), requests, nobody)
    out_width = np.diff(row_start_out)
    if flags.get("width") == "over":
        out_width = out_width + 5
    elif flags.get("width") == "ragged":
        turn = np.arange(requests) % 4
        out_width = np.choose(turn, [out_width // 2, out_width, 0, 1]).astype(np.int32)

    # coarse steps, so that equal sums occur
    step = 1 if flags.get("data") in ("ties", "flat") else 8
    total = -np.round(8 * rng.random(rows)) / step
    cumulative = np.where(is_live, total, np.nan).astype(np.float32)
    return Batch(
        level, trie, filters, node, row_start, live, is_live, row_start_out, out_width, cumulative
    )


def scores(rng: Rng, kind: str, rows: int, columns: int) -> Floats:
    """Scores [rows, columns].

    normal; ties (integers); flat; peaked (one code a row stands out); extreme (tens of
    thousands); low (many finite ones below the least score); minus_inf (many, and all of row 0).
    """
    shape = (rows, columns)
    values = 2 * rng.normal(size=shape)
    if kind == "ties":
        values = np.round(values)
    elif kind == "flat":
        values = np.zeros(shape)
    elif kind == "peaked":
        values = np.where(np.arange(columns) == rng.integers(columns, size=(rows, 1)), 40, values)
    elif kind == "extreme":
        values *= 1.5e4
    elif kind == "low":
        values = np.where(rng.random(shape) < 0.5, -3e37, values)
    elif kind == "minus_inf":
        values = np.where(rng.random(shape) < 0.7, -np.inf, values)
        values[0] = -np.inf
    elif kind not in ("normal", "nan", "plus_inf"):
        raise ValueError(f"scores of kind {kind!r} are not known")
    return values.astype(np.float32)


def spoil(values: Floats, kind: str, beams: Batch) -> None:
    """For "nan" and "plus_inf": on a legal code of a first request, on an illegal one of the next.

    Without a catalogue only the first request gets one.
    """
    if kind not in ("nan", "plus_inf"):
        return
    everything = np.arange(values.shape[1])
    requests = np.flatnonzero(beams.live)
    for legal, request in zip((True, False), requests, strict=False):
        row = beams.row_start[request] + beams.live[request] - 1
        code: NDArray[Any] = everything
        if beams.trie is not None:
            code = children_of(beams.trie, beams.level, int(beams.node[row]))
        if not legal:
            code = np.setdiff1d(everything, code)
        if len(code):
            values[row, code[-1]] = np.nan if kind == "nan" else np.inf


def poison(values: Floats, is_live: NDArray[np.bool_]) -> Floats:
    """The values with NaN in every row that must not be read."""
    values[~is_live] = np.nan
    return values


def model_type(values: Floats, dtype: str) -> NDArray[Any]:
    """Values in the model's element type."""
    return values.astype(_TYPES[dtype])


def _row_start(rng: Rng, rows: int, requests: int, nobody: int) -> Ints:
    cuts = np.sort(rng.choice(max(rows - nobody - 1, 0), requests - 1, replace=False)) + 1
    return np.concatenate(([0], cuts, [rows - nobody])).astype(np.int32)


def _live(rng: Rng, row_start: Ints, kind: str) -> Ints:
    full = np.diff(row_start)
    if kind == "all":
        return full
    if kind == "none" or len(full) == 1:
        return np.zeros_like(full) if kind == "none" else rng.integers(0, full + 1, dtype=np.int32)
    # all, part and none of the rows, one after the other
    part = rng.integers(np.clip(full - 1, 0, 1), np.maximum(full, 1))
    return np.choose(np.arange(len(full)) % 3, [full, part, 0]).astype(np.int32)


def _catalogue(rng: Rng, case: Case, level: int) -> Trie:
    sizes = [6, 9, 7]
    sizes[level] = case.sizes["K"]
    if case.flags.get("children") == "edges":
        sizes[0] = len(EDGES)
        return trie_of(sids_of(rng, sizes, EDGES), sizes)
    items, chains = int(case.flags.get("items", 150)), bool(case.flags.get("chains", False))
    if items > 10_000:
        # wide levels above too, so that rows have few children each
        sizes = [case.sizes["K"]] * 3
    return trie_of(random_sids(rng, sizes, items, chains), sizes)


def _nodes(rng: Rng, trie: Trie, is_live: NDArray[np.bool_], case: Case) -> Ints:
    level, rows = int(case.flags.get("level", 1)), len(is_live)
    exist = len(np.asarray(trie.levels[level - 1].code))
    # ascending as beams are; the first and the last node occur: off-by-one errors show there
    node = np.sort(np.concatenate((rng.integers(0, exist, rows)[2:], [0, exist - 1])))
    node = node[:rows]
    if case.flags.get("children") == "edges":
        node = np.sort(np.arange(rows) % exist)
    if case.flags.get("missing"):
        node[rng.random(rows) < 0.4] = -1
        node[-1] = exist
    return np.where(is_live, node, NOWHERE).astype(np.int32)


def _filters(rng: Rng, trie: Trie | None, kind: str, requests: int) -> Filters | None:
    if not kind or trie is None:
        return None
    kinds = {
        "exclude": (EXCLUDE,),
        "allow": (ALLOW,),
        "mask": (KEEP_ALL,),
        "mixed": (KEEP_ALL, EXCLUDE, ALLOW),
        "nothing": (EXCLUDE, ALLOW),
    }[kind]
    # shared masks: -1 is none
    masks = {"mask": (0, 1), "mixed": (-1, 0, 1)}.get(kind, (-1,))
    leaves = len(np.asarray(trie.levels[-1].code))
    shared = [rng.random(leaves) < share for share in (0.5, 0.05)]
    share = 0.0 if kind == "nothing" else 0.4
    return filters_of(
        trie,
        [kinds[b % len(kinds)] for b in range(requests)],
        [rng.random(leaves) < share for _ in range(requests)],
        [masks[b % len(masks)] for b in range(requests)],
        shared,
    )
