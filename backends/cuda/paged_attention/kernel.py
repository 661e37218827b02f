"""The kernel of paged attention: one row and one kv head a block of threads, as engines decode.

The GROUP query heads of a kv head share its keys; rows share nothing, as sequences do not. A long
table is divided between SPLITS blocks, the last of which joins the parts.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
# triton compiles the functions here from their source; their arguments are no Python values

import triton
import triton.language as tl

from xgr.backends.cuda.rows import request_of
from xgr.backends.cuda.staged_attention.blocks import (
    NONE,
    absorb,
    load_tile,
    normalise,
    queries,
    score,
    store_tile,
)
from xgr.backends.cuda.staged_attention.partials import settle


@triton.jit(do_not_specialize=["requests", "step"])
def paged_kernel(
    q, k, v, table, prompt_len, row_start, live,
    out, lse, sums, stats, arrivals,
    requests, step, scale,
    q_at, k_at, v_at, table_at, out_at, lse_at,
    GROUP: tl.constexpr,
    SIZE: tl.constexpr,
    TOKENS: tl.constexpr,
    BLOCK_B: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    SPLITS: tl.constexpr,
    WIDEN: tl.constexpr,
):  # fmt: skip
    """Grid: (G * SPLITS, R).

    What it takes:
        q: [R, H, SIZE].
        k, v: [NP, TOKENS, G, SIZE].
        table: int32 [R, MB].
        prompt_len: int32 [requests].
        row_start: int32 [requests + 1].
        live: int32 [requests].
        out: [R, H, SIZE].
        lse: float32 [R, H].
        sums, stats, arrivals: workspaces of the parts; None where SPLITS is 1.
        requests, step: sizes.
        scale: > 0, of the scores, in units of log2.
        q_at, k_at, v_at, table_at, out_at, lse_at: strides of all axes but the last.
        GROUP: H // G.
        SIZE, TOKENS: elements of a head, tokens of a block.
        BLOCK_B, BLOCK_M, BLOCK_N, BLOCK_D: powers of two above requests, of query heads, of
            tokens at a time, and above SIZE.
        SPLITS: greatest number of parts of a row.
        WIDEN: see `blocks.dot`.
    """
    group, part = tl.program_id(0) // SPLITS, tl.program_id(0) % SPLITS
    row = tl.program_id(1)
    request = request_of(row, row_start, requests, BLOCK_B)
    mine = request < requests
    count = tl.load(live + request, mask=mine, other=0)
    length = tl.load(prompt_len + request, mask=mine, other=0) + step
    length = tl.where(row < tl.load(row_start + request) + count, length, 0)
    units = tl.cdiv(length, BLOCK_N)
    share = tl.maximum(tl.cdiv(units, SPLITS), 1)
    parts = tl.maximum(tl.cdiv(units, share), 1)
    if part >= parts:
        return

    slot = tl.arange(0, BLOCK_M)
    inside = slot < GROUP
    seen = inside & (length > 0)
    wide, head = row.to(tl.int64), group * GROUP + slot
    q = queries(q + wide * q_at[0] + head * q_at[1], seen, SIZE, BLOCK_D)
    k += group * k_at[2]
    v += group * v_at[2]
    table += wide * table_at[0]

    acc = tl.zeros([BLOCK_M, BLOCK_D], tl.float32)
    top = tl.full([BLOCK_M], NONE, tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    for unit in range(part * share, tl.minimum(part * share + share, units)):
        token = unit * BLOCK_N + tl.arange(0, BLOCK_N)
        there = token < length
        block = tl.load(table + token // TOKENS, mask=there, other=0).to(tl.int64)
        within = token % TOKENS
        keys = k + block * k_at[0] + within * k_at[1]
        scores = score(q, seen, keys, there, SIZE, BLOCK_D, WIDEN)
        scores = tl.where(there[None, :], scores, NONE)
        values = load_tile(v + block * v_at[0] + within * v_at[1], there, SIZE, BLOCK_D)
        acc, top, total = absorb(scores, scale, values, acc, top, total, WIDEN)

    place = row * (tl.num_programs(0) // SPLITS) + group
    done, acc, top, total = settle(
        acc, top, total, sums, stats, arrivals, place, part, parts, BLOCK_M, BLOCK_D, SPLITS
    )
    if done:
        result, stat = normalise(acc, top, total, seen)
        store_tile(out + wide * out_at[0] + head * out_at[1], result, inside, SIZE, BLOCK_D)
        tl.store(lse + wide * lse_at[0] + head, stat, mask=inside)
