"""Parts of a split prompt: each block leaves its running softmax, the last one joins them.

A workspace slot is one (tile, kv head, part). `arrivals` counts the parts of a (tile, kv head)
that are done; the block that completes it resets it, so that a replayed graph starts at zero.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
# triton compiles the functions here from their source; their arguments are no Python values

import triton
import triton.language as tl

from xgr.backends.cuda.staged_attention.blocks import NONE


@triton.jit
def settle(
    acc, top, total, sums, stats, arrivals, place, part, parts,
    BLOCK_M: tl.constexpr,
    BLOCK_D: tl.constexpr,
    SPLITS: tl.constexpr,
):  # fmt: skip
    """Join the parts of a tile at `place` where there are several.

    Returns:
        Whether this block is the one that has the result, and then acc, top and total of it.
    """
    done = parts == 1
    if SPLITS > 1:  # noqa: SIM102 - without splits the compiler must not see the workspaces
        if parts > 1:
            first = place * SPLITS
            leave(acc, top, total, sums, stats, first + part, BLOCK_M, BLOCK_D)
            done = is_last(arrivals, place, parts)
            if done:
                acc, top, total = join(sums, stats, first, parts, BLOCK_M, BLOCK_D, SPLITS)
    return done, acc, top, total


@triton.jit
def leave(acc, top, total, sums, stats, slot, BLOCK_M: tl.constexpr, BLOCK_D: tl.constexpr):
    """Write a running softmax to a slot of the workspace."""
    row, column = tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_D)
    place = slot.to(tl.int64) * BLOCK_M
    tl.store(sums + place * BLOCK_D + row[:, None] * BLOCK_D + column[None, :], acc)
    tl.store(stats + place * 2 + row, top)
    tl.store(stats + place * 2 + BLOCK_M + row, total)


@triton.jit
def is_last(arrivals, place, parts):
    """Count this block's part as done; whether all parts of the tile are."""
    tl.debug_barrier()  # every thread's writes come before the one thread's count
    arrived = tl.atomic_add(arrivals + place, 1, sem="acq_rel", scope="gpu")
    last = arrived == parts - 1
    if last:
        tl.store(arrivals + place, 0)
    return last


@triton.jit
def join(
    sums,
    stats,
    slot,
    parts,
    BLOCK_M: tl.constexpr,
    BLOCK_D: tl.constexpr,
    SPLITS: tl.constexpr,
):
    """The running softmax over all parts of a tile, in their order; `slot` is the first one's."""
    row, column = tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_D)
    part = tl.arange(0, SPLITS)
    place = slot.to(tl.int64) * BLOCK_M
    # other blocks wrote them: read past this SM's own cache
    stat = stats + (place * 2 + part[:, None] * (2 * BLOCK_M) + row[None, :])
    there = (part < parts)[:, None]
    tops = tl.load(stat, mask=there, other=NONE, cache_modifier=".cg")  # [SPLITS, M]
    totals = tl.load(stat + BLOCK_M, mask=there, other=0.0, cache_modifier=".cg")
    top = tl.max(tops, 0)
    base = tl.where(top == NONE, 0.0, top)
    total = tl.sum(totals * tl.exp2(tops - base[None, :]), 0)
    acc = tl.zeros([BLOCK_M, BLOCK_D], tl.float32)
    for one in tl.range(0, parts, num_stages=3):  # several loads on their way at a time
        here = place + one * BLOCK_M
        weight = tl.exp2(tl.load(stats + here * 2 + row, cache_modifier=".cg") - base)
        at = sums + here * BLOCK_D + row[:, None] * BLOCK_D + column[None, :]
        acc += weight[:, None] * tl.load(at, cache_modifier=".cg")
    return acc, top, total
