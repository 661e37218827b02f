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


@triton.jit
def hide(
    scores, seen, key, position, length, bias, near, bias_stride, head, scale,
    CAUSAL: tl.constexpr,
    LATER: tl.constexpr,
):  # fmt: skip
    """Scores with -inf where a query does not see a key; with a bias in units of log2 and with it.

    What it takes:
        scores: [M, N], of queries that are there where `seen`.
        key, position: place of each key and query in the prompt, of `length` tokens.
        head: query head of each query.
        bias, near, bias_stride, scale, CAUSAL, LATER: see `prefill_kernel`.
    """
    # rows that are not there see what they like: nothing is kept of them
    last = position[:, None] if CAUSAL else length - 1
    visible = key[None, :] <= last
    if bias is not None:
        ahead = key[None, :] - position[:, None]
        read = visible & seen[:, None]
        bucket = tl.load(near + tl.abs(ahead), mask=read, other=0)
        bucket += tl.where(ahead > 0, LATER, 0)
        extra = tl.load(bias + bucket * bias_stride + head[:, None], mask=read, other=0.0)
        scores = scores * scale + extra * LOG2_E
    return tl.where(visible, scores, NONE)


@triton.jit
def attend(
    q, seen, k, v, k_row, v_row, bias, near, bias_stride, head, position, first, length, full,
    scale, acc, top, total,
    CAUSAL: tl.constexpr,
    LATER: tl.constexpr,
    SIZE: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    WHOLE: tl.constexpr,
    WIDEN: tl.constexpr,
):  # fmt: skip
    """Add the keys `first` .. `first` + BLOCK_N - 1 of a prompt of `length` tokens.

    What it takes:
        q, seen, head, position: the tile's queries, which of them there are, and of each its head
            and its place in the prompt.
        k, v: the prompt's first key and value of the kv head.
        k_row, v_row: strides of their tokens.
        full: keys before it are seen by all queries.
        WHOLE: the prompt does not end among these keys. Where it does, what lies behind it must
            not be read: 0 times NaN is NaN.
        bias, near, bias_stride, scale, acc, top, total, and constants: see `prefill_kernel`.
    """
    offset = tl.arange(0, BLOCK_N)
    there = offset < (BLOCK_N if WHOLE else length - first)
    ahead = tl.cast(first, tl.int64)
    scores = score(q, seen, k + ahead * k_row + offset * k_row, there, SIZE, BLOCK_D, WIDEN)
    # a mask costs a quarter of a unit: only those that need one have it
    if bias is not None or first + BLOCK_N > full:
        scores = hide(
            scores, seen, first + offset, position, length, bias, near, bias_stride, head, scale,
            CAUSAL, LATER,
        )  # fmt: skip
    values = load_tile(v + ahead * v_row + offset * v_row, there, SIZE, BLOCK_D)
    return absorb(scores, scale if bias is None else 1.0, values, acc, top, total, WIDEN)


@triton.jit
def order(place, tiles, idle, FOLD: tl.constexpr):
    """The tile of the block that is launched at a place; `idle` of the last ones may be empty.

    The last tiles of a causal prompt have the most keys and go first. FOLD: all blocks run at once,
    two on an SM, so the shorter half is launched from the shortest on: then the SM that has the
    longest tile has the shortest one beside it.
    """
    if FOLD:
        used = tl.maximum(tiles - idle, 0)
        longer = used - used // 2
        shorter = tl.where(place < used, place - longer, place)
        tile = tl.where(place < longer, used - 1 - place, shorter)
    else:
        tile = tiles - 1 - place
    return tile


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
    FOLD: tl.constexpr,
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
        FOLD: see `order`.
        WIDEN: see `blocks.dot`.
    """
    ROWS: tl.constexpr = BLOCK_M // GROUP
    tile = order(tl.program_id(1), tl.num_programs(1), requests + 1, FOLD)
    group, part = tl.program_id(0) // SPLITS, tl.program_id(0) % SPLITS

    # rows of nobody are those of one request more, of which no query is seen
    index = tl.arange(0, REQUESTS)
    starts = tl.load(q_start + index, mask=index <= requests, other=rows)
    prompts = tl.load(prompt_start + index, mask=index < requests, other=0)
    lengths = tl.load(prompt_len + index, mask=index < requests, other=0)
    mine = (index <= requests) & (first_tiles(starts, index, ROWS) <= tile)
    request = tl.sum(mine.to(tl.int32), 0) - 1
    own = pick(starts, index, request)
    end = tl.where(request < requests, pick(starts, index, request + 1), rows)
    length = pick(lengths, index, request)
    begin = own + (tile - first_tiles(own, request, ROWS)) * ROWS
    if begin >= end:
        return

    # position of a row = row + before
    before = length - end
    # keys that some query of the tile sees, and those that all of them see
    visible, full = length, length
    if CAUSAL:
        visible, full = tl.minimum(begin + ROWS, end) + before, begin + before + 1
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
    bias_stride = 0
    if bias is not None:
        bias_stride = bias_at[0]
    whole = length // BLOCK_N
    for one in range(unit, tl.minimum(unit_end, whole)):
        acc, top, total = attend(
            q, seen, k, v, k_at[0], v_at[0], bias, near, bias_stride, head, row + before,
            one * BLOCK_N, length, full, scale, acc, top, total,
            CAUSAL, LATER, SIZE, BLOCK_N, BLOCK_D, True, WIDEN,
        )  # fmt: skip
    if (unit <= whole) & (whole < unit_end):
        acc, top, total = attend(
            q, seen, k, v, k_at[0], v_at[0], bias, near, bias_stride, head, row + before,
            whole * BLOCK_N, length, full, scale, acc, top, total,
            CAUSAL, LATER, SIZE, BLOCK_N, BLOCK_D, False, WIDEN,
        )  # fmt: skip

    place = tile * (tl.num_programs(0) // SPLITS) + group
    done, acc, top, total = settle(
        acc, top, total, sums, stats, arrivals, place, part, parts, BLOCK_M, BLOCK_D, SPLITS
    )
    if done:
        result, _ = normalise(acc, top, total, seen)
        store_tile(out + row_wide * out_at[0] + head * out_at[1], result, inside, SIZE, BLOCK_D)
