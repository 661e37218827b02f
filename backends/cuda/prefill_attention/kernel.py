"""The kernel of prefill attention: queries of packed prompts over their own keys."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
# triton compiles the functions here from their source; their arguments are no Python values

import triton
import triton.language as tl

from xgr.backends.cuda.staged_attention.blocks import (
    LOG2_E,
    NONE,
    absorb,
    first_tiles,
    load_tile,
    normalise,
    pick,
    queries,
    score,
    store_tile,
)
from xgr.backends.cuda.staged_attention.partials import settle
from xgr.backends.cuda.staged_attention.units import attend_prompt


@triton.jit
def attend_some(
    q, seen, k, v, bias, near, k_stride, v_stride, bias_stride, head, position, first, length,
    scale, acc, top, total,
    CAUSAL: tl.constexpr,
    LATER: tl.constexpr,
    SIZE: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    WIDEN: tl.constexpr,
):  # fmt: skip
    """Add the keys `first` .. `first` + BLOCK_N - 1, of which a query may see some.

    What it takes:
        q, seen, head, position: the tile's queries, which of them there are, and of each its head
            and its place in the prompt.
        k, v: the prompt's first key and value, `length` in all.
        bias, near: see `prefill_kernel`.
        scale, acc, top, total, CAUSAL, LATER, SIZE, BLOCK_N, BLOCK_D, WIDEN: see `prefill_kernel`.
    """
    key = first + tl.arange(0, BLOCK_N)
    there = key < length
    wide = key.to(tl.int64)
    scores = score(q, seen, k + wide * k_stride, there, SIZE, BLOCK_D, WIDEN) * scale
    visible = seen[:, None] & there[None, :]
    ahead = key[None, :] - position[:, None]
    if CAUSAL:
        visible = visible & (ahead <= 0)
    if bias is not None:
        bucket = tl.load(near + tl.abs(ahead), mask=visible, other=0)
        bucket += tl.where(ahead > 0, LATER, 0)
        extra = tl.load(bias + bucket * bias_stride + head[:, None], mask=visible, other=0.0)
        scores += extra * LOG2_E
    scores = tl.where(visible, scores, NONE)
    values = load_tile(v + wide * v_stride, there, SIZE, BLOCK_D)
    return absorb(scores, 1.0, values, acc, top, total, WIDEN)


@triton.jit(do_not_specialize=["rows", "requests"])
def prefill_kernel(
    q, k, v, bias, near, q_start, prompt_start, prompt_len,
    out, sums, stats, arrivals,
    rows, requests, scale,
    q_at, k_at, v_at, bias_at, out_at,
    CAUSAL: tl.constexpr,
    LATER: tl.constexpr,
    GROUP: tl.constexpr,
    SIZE: tl.constexpr,
    REQUESTS: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    SPLITS: tl.constexpr,
    CHUNK: tl.constexpr,
    WIDEN: tl.constexpr,
):  # fmt: skip
    """Grid: (G * SPLITS, tiles).

    What it takes:
        q: [rows, H, SIZE].
        k, v: [T, G, SIZE].
        bias: float32 [buckets, H] or None.
        near: int32 [T], the bucket of each distance to a key that is not later.
        q_start: int32 [requests + 1].
        prompt_start, prompt_len: int32 [requests].
        out: [rows, H, SIZE].
        sums, stats, arrivals: workspaces of the parts; None where SPLITS is 1.
        rows, requests: sizes.
        scale: > 0, of the scores, in units of log2.
        q_at, k_at, v_at, bias_at, out_at: strides of all axes but the last, whose stride is 1.
        CAUSAL: a query sees no later keys.
        LATER: what a later key adds to its bucket.
        GROUP: H // G.
        SIZE: elements of a head.
        REQUESTS: power of two above `requests`.
        BLOCK_M, BLOCK_N, BLOCK_D: tile of queries, keys, and elements of a head.
        SPLITS: greatest number of parts of a tile.
        CHUNK: least number of units of a part.
        WIDEN: see `blocks.dot`.
    """
    ROWS: tl.constexpr = BLOCK_M // GROUP
    # the last tiles of a causal prompt have the most keys and go first
    tile = tl.num_programs(1) - 1 - tl.program_id(1)
    group, part = tl.program_id(0) // SPLITS, tl.program_id(0) % SPLITS

    # rows of nobody are those of one request more, of which no query is seen
    index = tl.arange(0, REQUESTS)
    starts = tl.load(q_start + index, mask=index <= requests, other=rows)
    prompts = tl.load(prompt_start + index, mask=index < requests, other=0)
    lengths = tl.load(prompt_len + index, mask=index < requests, other=0)
    mine = (index <= requests) & (first_tiles(starts, index, ROWS) <= tile)
    request = tl.sum(mine.to(tl.int32), 0) - 1
    start = pick(starts, index, request)
    end = tl.where(request < requests, pick(starts, index, request + 1), rows)
    length = pick(lengths, index, request)
    begin = start + (tile - first_tiles(start, request, ROWS)) * ROWS
    if begin >= end:
        return

    # position of a row = row + before
    before = length - end
    visible = length
    full = length // BLOCK_N
    if CAUSAL:
        visible = tl.minimum(begin + ROWS, end) + before
        full = (begin + before + 1) // BLOCK_N
    if bias is not None:
        full = 0
    units = tl.where(request < requests, tl.cdiv(visible, BLOCK_N), 0)
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
    seen = inside & (request < requests)
    row_wide = row.to(tl.int64)
    q = queries(q + row_wide * q_at[0] + head * q_at[1], seen, SIZE, BLOCK_D)
    prompt = pick(prompts, index, request).to(tl.int64)
    k += prompt * k_at[0] + group * k_at[1]
    v += prompt * v_at[0] + group * v_at[1]

    acc = tl.zeros([BLOCK_M, BLOCK_D], tl.float32)
    top = tl.full([BLOCK_M], NONE, tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    if bias is None:
        for one in range(unit, tl.minimum(unit_end, full)):
            acc, top, total = attend_prompt(
                q, seen, k, v, k_at[0], v_at[0], one * BLOCK_N, length, scale, acc, top, total,
                SIZE, BLOCK_N, BLOCK_D, False, WIDEN,
            )  # fmt: skip
    bias_stride = 0
    if bias is not None:
        bias_stride = bias_at[0]
    for one in tl.range(tl.maximum(unit, full), unit_end, num_stages=1):
        acc, top, total = attend_some(
            q, seen, k, v, bias, near, k_at[0], v_at[0], bias_stride, head, row + before,
            one * BLOCK_N, length, scale, acc, top, total,
            CAUSAL, LATER, SIZE, BLOCK_N, BLOCK_D, WIDEN,
        )  # fmt: skip

    place = tile * (tl.num_programs(0) // SPLITS) + group
    done, acc, top, total = settle(
        acc, top, total, sums, stats, arrivals, place, part, parts, BLOCK_M, BLOCK_D, SPLITS
    )
    if done:
        result, _ = normalise(acc, top, total, seen)
        store_tile(out + row_wide * out_at[0] + head * out_at[1], result, inside, SIZE, BLOCK_D)
