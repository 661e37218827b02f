"""Device functions that add one unit of keys to a running softmax."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
# triton compiles the functions here from their source; their arguments are no Python values

import triton
import triton.language as tl

from xgr.backends.cuda.staged_attention.blocks import LOG2_E, NONE, absorb, load_tile, score


@triton.jit
def attend_prompt(
    q, seen, k, v, k_stride, v_stride, first, length, scale, acc, top, total,
    SIZE: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    MASKED: tl.constexpr,
    WIDEN: tl.constexpr,
):  # fmt: skip
    """Add the keys `first` .. `first` + BLOCK_N - 1 of a prompt of `length` keys.

    `k` and `v` point to the prompt's first key; MASKED where the prompt may end before the last.
    """
    key = tl.arange(0, BLOCK_N)
    there = key < (length - first if MASKED else BLOCK_N)
    at = tl.cast(first, tl.int64)
    k_rows = k + at * k_stride + key * k_stride
    scores = score(q, seen, k_rows, there, SIZE, BLOCK_D, WIDEN)
    values = load_tile(v + at * v_stride + key * v_stride, there, SIZE, BLOCK_D)
    if MASKED:
        scores = tl.where(there[None, :], scores, NONE)
    return absorb(scores, scale, values, acc, top, total, WIDEN)


@triton.jit
def attend_own(
    q, seen, k, v, ancestors, bias, row, head, begin, alive, first, step, group,
    scale, acc, top, total,
    k_at, v_at, ancestors_at, bias_at,
    SIZE: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    WIDEN: tl.constexpr,
):  # fmt: skip
    """Add keys that rows hold themselves, numbered slot by slot, ROWS rows a slot.

    What it takes:
        q, seen, row, head: the tile's queries, which of them are live, their rows and heads.
        begin, alive: the tile's first row; the end of its request's live rows.
        first: number of the first key.
        step: valid slots.
        group: kv head.
        k, v, ancestors, bias, k_at, v_at, ancestors_at, bias_at: see `attention_kernel`.
        scale, acc, top, total, SIZE, ROWS, BLOCK_N, BLOCK_D, WIDEN: see `attention_kernel`.
    """
    number = first + tl.arange(0, BLOCK_N)
    slot = number // ROWS
    owner = begin + number % ROWS
    there = (slot < step) & (owner < alive)
    holder = owner.to(tl.int64)
    if ancestors is not None:
        at = ancestors + holder * ancestors_at[0] + slot
        holder = tl.load(at, mask=there, other=0).to(tl.int64)
    k += group * k_at[2]
    v += group * v_at[2]
    k_rows = k + holder * k_at[0] + slot * k_at[1]
    values = load_tile(v + holder * v_at[0] + slot * v_at[1], there, SIZE, BLOCK_D)
    scores = score(q, seen, k_rows, there, SIZE, BLOCK_D, WIDEN) * scale
    own = there[None, :] & (row[:, None] == owner[None, :])
    if bias is not None:
        at = bias + head[:, None] * bias_at[0] + slot[None, :]
        scores += tl.load(at, mask=own, other=0.0) * LOG2_E
    scores = tl.where(own, scores, NONE)
    return absorb(scores, 1.0, values, acc, top, total, WIDEN)
