"""The kernel of staged, shared and unshared attention: one softmax over prompt and own tokens.

A request's keys come in units of BLOCK_N: those of its prompt, then those that the rows of the
tile hold themselves, slot by slot. The own keys are multiplied as a dense block in which a row
sees the keys of its own beam only: that costs a few units, loads every key once for its GROUP
query heads, and needs no code beside the prompt's. The parts of a split divide the units.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
# triton compiles the functions here from their source; their arguments are no Python values

import triton
import triton.language as tl

from xgr.backends.cuda.staged_attention.blocks import (
    NONE,
    first_tiles,
    normalise,
    pick,
    queries,
    store_tile,
)
from xgr.backends.cuda.staged_attention.partials import settle
from xgr.backends.cuda.staged_attention.units import attend_own, attend_prompt


@triton.jit(do_not_specialize=["rows", "requests", "step", "first_work"])
def attention_kernel(
    q, k, v, k_own, v_own, ancestors, bias,
    prompt_start, prompt_len, row_start, live,
    out, lse, sums, stats, arrivals,
    rows, requests, step, scale, first_work,
    q_at, k_at, v_at, k_own_at, v_own_at, ancestors_at, bias_at, out_at, lse_at,
    GROUP: tl.constexpr,
    GROUPS: tl.constexpr,
    SIZE: tl.constexpr,
    REQUESTS: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    SPLITS: tl.constexpr,
    CHUNK: tl.constexpr,
    WIDEN: tl.constexpr,
):  # fmt: skip
    """Grid: some of the GROUPS * SPLITS * tiles blocks: parts of a tile, kv heads, tiles.

    What it takes:
        q: [rows, H, SIZE].
        k, v: [T, GROUPS, SIZE] of the prompts; None without a shared stage.
        k_own, v_own: [rows, S, GROUPS, SIZE]; None without an unshared stage.
        ancestors: int32 [rows, S] or None.
        bias: float32 [H, S] or None.
        prompt_start, prompt_len: int32 [requests]; None without a shared stage.
        row_start: int32 [requests + 1].
        live: int32 [requests].
        out: [rows, H, SIZE].
        lse: float32 [rows, H].
        sums, stats, arrivals: workspaces of the parts; None where SPLITS is 1.
        rows, requests: sizes.
        step: valid own slots.
        scale: > 0, of the scores, in units of log2.
        first_work: number of the grid's first block.
        q_at, k_at, v_at, k_own_at, v_own_at, ancestors_at, bias_at, out_at, lse_at: strides of all
            axes but the last, whose stride is 1.
        GROUP: H // GROUPS.
        GROUPS: kv heads.
        SIZE: elements of a head.
        REQUESTS: power of two above `requests`.
        BLOCK_M, BLOCK_N, BLOCK_D: tile of queries, keys, and elements of a head.
        SPLITS: greatest number of parts of a tile.
        CHUNK: least number of units of a part.
        WIDEN: see `blocks.dot`.
    """
    ROWS: tl.constexpr = BLOCK_M // GROUP
    work = first_work + tl.program_id(0)
    part, group, tile = work % SPLITS, work // SPLITS % GROUPS, work // (GROUPS * SPLITS)

    # rows of nobody are those of one request more, of which none is live
    index = tl.arange(0, REQUESTS)
    starts = tl.load(row_start + index, mask=index <= requests, other=rows)
    lives = tl.load(live + index, mask=index < requests, other=0)
    mine = (index <= requests) & (first_tiles(starts, index, ROWS) <= tile)
    request = tl.sum(mine.to(tl.int32), 0) - 1
    start = pick(starts, index, request)
    end = tl.where(request < requests, pick(starts, index, request + 1), rows)
    alive = start + pick(lives, index, request)
    begin = start + (tile - first_tiles(start, request, ROWS)) * ROWS
    if begin >= end:
        return

    units, length, prompt_units = 0, 0, 0
    if k is not None:
        prompt = pick(tl.load(prompt_start + index, mask=index < requests, other=0), index, request)
        lengths = tl.load(prompt_len + index, mask=index < requests, other=0)
        length = pick(lengths, index, request)
        prompt_units = tl.cdiv(length, BLOCK_N)
        units += prompt_units
    if k_own is not None:
        units += tl.cdiv(step * ROWS, BLOCK_N)
    units = tl.where(begin < alive, units, 0)
    share = tl.maximum(tl.cdiv(units, SPLITS), CHUNK)
    parts = tl.maximum(tl.cdiv(units, share), 1)
    if part >= parts:
        return
    unit = part * share
    unit_end = tl.minimum(unit + share, units)

    slot = tl.arange(0, BLOCK_M)
    row = begin + slot // GROUP
    head = group * GROUP + slot % GROUP
    inside = (slot < ROWS * GROUP) & (row < end)
    seen = (slot < ROWS * GROUP) & (row < alive)
    row_wide = row.to(tl.int64)
    q = queries(q + row_wide * q_at[0] + head * q_at[1], seen, SIZE, BLOCK_D)

    acc = tl.zeros([BLOCK_M, BLOCK_D], tl.float32)
    top = tl.full([BLOCK_M], NONE, tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    if k is not None:
        k += prompt.to(tl.int64) * k_at[0] + group * k_at[1]
        v += prompt.to(tl.int64) * v_at[0] + group * v_at[1]
        # a mask costs a quarter: only the unit that the prompt may end in has one
        full = length // BLOCK_N
        for one in range(unit, tl.minimum(unit_end, full)):
            acc, top, total = attend_prompt(
                q, seen, k, v, k_at[0], v_at[0], one * BLOCK_N, length, scale, acc, top, total,
                SIZE, BLOCK_N, BLOCK_D, False, WIDEN,
            )  # fmt: skip
        if (full >= unit) & (full < tl.minimum(unit_end, prompt_units)):
            acc, top, total = attend_prompt(
                q, seen, k, v, k_at[0], v_at[0], full * BLOCK_N, length, scale, acc, top, total,
                SIZE, BLOCK_N, BLOCK_D, True, WIDEN,
            )  # fmt: skip
    if k_own is not None:
        for one in tl.range(tl.maximum(unit, prompt_units), unit_end, num_stages=1):
            first = (one - prompt_units) * BLOCK_N
            acc, top, total = attend_own(
                q, seen, k_own, v_own, ancestors, bias, row, head, begin, alive, first, step,
                group, scale, acc, top, total,
                k_own_at, v_own_at, ancestors_at, bias_at,
                SIZE, ROWS, BLOCK_N, BLOCK_D, WIDEN,
            )  # fmt: skip

    place = tile * GROUPS + group
    done, acc, top, total = settle(
        acc, top, total, sums, stats, arrivals, place, part, parts, BLOCK_M, BLOCK_D, SPLITS
    )
    if done:
        result, stat = normalise(acc, top, total, seen)
        store_tile(out + row_wide * out_at[0] + head * out_at[1], result, inside, SIZE, BLOCK_D)
        tl.store(lse + row_wide * lse_at[0] + head, stat, mask=inside)
