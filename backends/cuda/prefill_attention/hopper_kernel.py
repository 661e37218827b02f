"""The kernel of prefill attention for sm_90: loads, products and softmax side by side.

A block has one or two consumers of 64 query vectors each, four warps that multiply and keep the
softmax, and one warp that copies K and V into a ring of tiles in shared memory (TMA). A consumer
issues the scores of the next unit and the sums of this one, and works out the next weights while
the tensor cores are busy: the schedule of FlashAttention-3 (Shah et al., 2024).
Units go backwards, so that those with a mask, where the prompt or what a query sees ends, come
first, and all others have none.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
# triton compiles the functions here from their source; their arguments are no Python values

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from xgr.backends.cuda.gluon import barrier
from xgr.backends.cuda.staged_attention.consumer import (
    CONSUMER,
    NONE,
    clear,
    product,
    release,
    vectors,
)
from xgr.backends.cuda.staged_attention.hopper_kernel import EVERY_WARP, pick, produce


@gluon.jit
def order(place, tiles, idle, FOLD: gl.constexpr):
    """The tile of the block that is launched at a place; `idle` of the last ones may be empty.

    The last tiles of a causal prompt have the most keys and go first. FOLD: all blocks run at once,
    two on an SM, so the shorter half is launched from the shortest on: then the SM that has the
    longest tile has the shortest one beside it.
    """
    tile = tiles - 1 - place
    if FOLD:
        used = gl.maximum(tiles - idle, 0)
        longer = used - used // 2
        shorter = gl.where(place < used, place - longer, place)
        tile = gl.where(place < longer, used - 1 - place, shorter)
    return tile


@gluon.jit
def find(
    tile, facts,
    CAUSAL: gl.constexpr,
    ROWS: gl.constexpr,
    BLOCK_N: gl.constexpr,
):  # fmt: skip
    """What a tile works on: where its prompt is, its rows, its units of keys, the prompt's length.

    The last is the place of a row in its prompt less its number. `begin` >= `end`: no rows.
    """
    index, starts, prompts, lengths, requests, rows = facts
    mine = (index <= requests) & (starts // ROWS + index <= tile)
    request = gl.sum(mine.to(gl.int32), 0) - 1
    start = pick(starts, index, request)
    end = gl.where(request < requests, pick(starts, index, request + 1), rows)
    begin = start + (tile - (start // ROWS + request)) * ROWS
    prompt, length = pick(prompts, index, request), pick(lengths, index, request)
    before = length - end
    visible = length  # keys that some query of the tile sees
    if CAUSAL:
        visible = gl.minimum(begin + ROWS, end) + before
    has = (request < requests) & (begin < end) & (visible > 0)
    count = gl.where(has, gl.cdiv(visible, BLOCK_N), 0)
    return prompt, begin, end, count, length, before


@gluon.jit(do_not_specialize=["rows", "requests"])
def hopper_prefill_kernel(
    q, k, v, q_start, prompt_start, prompt_len, out,
    rows, requests, scale, k_head, v_head,
    AT: gl.constexpr,
    CAUSAL: gl.constexpr,
    GROUP: gl.constexpr,
    SIZE: gl.constexpr,
    REQUESTS: gl.constexpr,
    CONSUMERS: gl.constexpr,
    BLOCK_N: gl.constexpr,
    STAGES: gl.constexpr,
    FOLD: gl.constexpr,
):  # fmt: skip
    """Grid: (G, tiles).

    What it takes:
        q: [rows, H, SIZE].
        k, v: tensor descriptors of [T, columns], a tile [BLOCK_N, SIZE].
        q_start: int32 [requests + 1].
        prompt_start, prompt_len: int32 [requests].
        out: [rows, H, SIZE].
        rows, requests: sizes.
        scale: > 0, of the scores, in units of log2.
        k_head, v_head: columns from one kv head to the next.
        AT: strides of q and out in all axes but the last, whose stride is 1.
        CAUSAL: a query sees no later keys.
        GROUP: H // G, a divisor of 64.
        SIZE: elements of a head, 64 or 128.
        REQUESTS: power of two above `requests`.
        CONSUMERS: 1 or 2.
        BLOCK_N: keys of a unit.
        STAGES: tiles of the ring, of K and of V each.
        FOLD: see `order`.
    """
    gdc_launch_dependents()
    ROWS: gl.constexpr = CONSUMER // GROUP * CONSUMERS
    TILE: gl.constexpr = k.layout
    PLACES: gl.constexpr = gl.NVMMASharedLayout.get_default_for([CONSUMER, SIZE], k.dtype)
    k_ring = gl.allocate_shared_memory(k.dtype, [STAGES, BLOCK_N, SIZE], TILE)
    v_ring = gl.allocate_shared_memory(k.dtype, [STAGES, BLOCK_N, SIZE], TILE)
    q_tile = gl.allocate_shared_memory(k.dtype, [CONSUMERS, CONSUMER, SIZE], PLACES)
    signals: gl.constexpr = mbarrier.MBarrierLayout()
    k_full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], signals)
    v_full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], signals)
    k_free = gl.allocate_shared_memory(gl.int64, [STAGES, 1], signals)
    v_free = gl.allocate_shared_memory(gl.int64, [STAGES, 1], signals)
    for stage in gl.static_range(STAGES):
        mbarrier.init(k_full.index(stage), count=1)
        mbarrier.init(v_full.index(stage), count=1)
        mbarrier.init(k_free.index(stage), count=CONSUMERS)
        mbarrier.init(v_free.index(stage), count=CONSUMERS)

    group = gl.program_id(0)
    tile = order(gl.program_id(1), gl.num_programs(1), requests + 1, FOLD)
    # up to here while the launch before still runs, whose results are read from here on
    gdc_wait()
    # rows of nobody are those of one request more, which has no keys
    index = gl.arange(0, REQUESTS, EVERY_WARP)
    listed = index < requests
    starts = gl.load(q_start + index, mask=index <= requests, other=rows)
    prompts = gl.load(prompt_start + index, mask=listed, other=0)
    lengths = gl.load(prompt_len + index, mask=listed, other=0)
    prompt, begin, end, count, length, before = find(
        tile, (index, starts, prompts, lengths, requests, rows), CAUSAL, ROWS, BLOCK_N
    )
    if begin >= end:
        return

    ring = (k_ring, v_ring, k_full, v_full, k_free, v_free)
    work = (q, out, ring, q_tile, begin, end, group, count, length, before, scale)
    bring = (k, v, ring, prompt, group * k_head, group * v_head, count - 1, count)
    # constants would be values in the tuples above
    if CONSUMERS == 2:
        gl.warp_specialize(
            [
                (consume, (0, work, AT, CAUSAL, GROUP, SIZE, BLOCK_N, STAGES)),
                (consume, (1, work, AT, CAUSAL, GROUP, SIZE, BLOCK_N, STAGES)),
                (produce, (bring, SIZE, BLOCK_N, STAGES)),
            ],
            [4, 1],
            [232, 24],
        )
    else:
        gl.warp_specialize(
            [
                (consume, (0, work, AT, CAUSAL, GROUP, SIZE, BLOCK_N, STAGES)),
                (produce, (bring, SIZE, BLOCK_N, STAGES)),
            ],
            [1],
            [24],
        )


@gluon.jit
def consume(
    which, work,
    AT: gl.constexpr,
    CAUSAL: gl.constexpr,
    GROUP: gl.constexpr,
    SIZE: gl.constexpr,
    BLOCK_N: gl.constexpr,
    STAGES: gl.constexpr,
):  # fmt: skip
    """Attend with the query vectors of consumer `which`, and write the result."""
    q, out, ring, q_tiles, begin, end, group, count, length, before, scale = work
    ROWS: gl.constexpr = CONSUMER // GROUP
    ACC: gl.constexpr = product(SIZE)
    kind: gl.constexpr = q.dtype.element_ty
    begin += which * ROWS
    q_tile = q_tiles.index(which)

    fetch(q, q_tile, begin, end, group, AT[0][0], AT[0][1], GROUP, SIZE)
    acc = gl.zeros([CONSUMER, SIZE], gl.float32, ACC)
    total = gl.zeros([CONSUMER], gl.float32, gl.SliceLayout(1, ACC))
    if count > 0:
        acc, _, total = attend(
            q_tile, ring, 0, acc, total, begin + before, count - 1, count, length, scale, kind,
            CAUSAL, GROUP, SIZE, BLOCK_N, STAGES,
        )  # fmt: skip
    write(out, q_tile, acc, total, again(begin), end, group, AT[1][0], AT[1][1], GROUP, SIZE)


@gluon.jit
def fetch(
    q, q_tile, begin, end, group,
    ROW: gl.constexpr,
    HEAD: gl.constexpr,
    GROUP: gl.constexpr,
    SIZE: gl.constexpr,
):  # fmt: skip
    """Copy the query vectors of rows from `begin` on to shared memory, for products."""
    VECTORS: gl.constexpr = vectors(SIZE)
    slot = gl.arange(0, CONSUMER, gl.SliceLayout(1, VECTORS))
    row = begin + slot // GROUP
    at = q + row.to(gl.int64) * ROW + (group * GROUP + slot % GROUP) * HEAD
    column = gl.arange(0, SIZE, gl.SliceLayout(0, VECTORS))[None, :]
    q_tile.store(gl.load(at[:, None] + column, mask=(row < end)[:, None], other=0.0))
    fence_async_shared()
    barrier()


@gluon.jit
def write(
    out, tile, acc, total, begin, end, group,
    ROW: gl.constexpr,
    HEAD: gl.constexpr,
    GROUP: gl.constexpr,
    SIZE: gl.constexpr,
):  # fmt: skip
    """Write the results of rows from `begin` on, through shared memory: 16 bytes at a time."""
    VECTORS: gl.constexpr = vectors(SIZE)
    share = 1.0 / gl.where(total == 0, 1.0, total)
    tile.store((acc * share[:, None]).to(out.dtype.element_ty))
    barrier()
    slot = gl.arange(0, CONSUMER, gl.SliceLayout(1, VECTORS))
    row = begin + slot // GROUP
    at = out + row.to(gl.int64) * ROW + (group * GROUP + slot % GROUP) * HEAD
    column = gl.arange(0, SIZE, gl.SliceLayout(0, VECTORS))[None, :]
    gl.store(at[:, None] + column, tile.load(VECTORS), mask=(row < end)[:, None])


@gluon.jit
def again(value):
    """The value; what follows from it is computed anew, not kept in registers through a loop."""
    copy: gl.constexpr = "mov.b32 $0, $1;"
    return gl.inline_asm_elementwise(copy, "=r,r", [value], dtype=gl.int32, is_pure=False, pack=1)


@gluon.jit
def attend(
    q_tile, ring, base, acc, total, first, last, count, length, scale,
    kind: gl.constexpr,
    CAUSAL: gl.constexpr,
    GROUP: gl.constexpr,
    SIZE: gl.constexpr,
    BLOCK_N: gl.constexpr,
    STAGES: gl.constexpr,
):  # fmt: skip
    """The sums, top and total over `count` units of keys, from unit `last` down.

    They are in the ring from its place `base` on. The tile's first row is at `first`.
    """
    k_ring, v_ring, k_full, v_full, k_free, v_free = ring
    SCORES: gl.constexpr = product(BLOCK_N)
    WEIGHTS: gl.constexpr = gl.DotOperandLayout(0, product(SIZE), 2)
    none = gl.zeros([CONSUMER, BLOCK_N], gl.float32, SCORES)
    full = length  # keys that all queries see
    if CAUSAL:
        full = gl.minimum(first + 1, length)
    masked = gl.minimum(gl.maximum(last + 1 - full // BLOCK_N, 1), count)
    ahead = last * BLOCK_N
    stage, odd = base % STAGES, base // STAGES & 1

    if length - ahead < BLOCK_N:  # before there are scores, for want of registers
        mbarrier.wait(v_full.index(stage), odd)
        clear(v_ring.index(stage), length - ahead, SIZE, BLOCK_N)
    mbarrier.wait(k_full.index(stage), odd)
    scores = warpgroup_mma(
        q_tile, k_ring.index(stage).permute((1, 0)), none, use_acc=False, is_async=True
    )
    scores = warpgroup_mma_wait(0, deps=[scores])
    release(k_free.index(stage))
    top = gl.full([CONSUMER], NONE, gl.float32, total.type.layout)
    weights, kept, top, total = weigh(
        scores, scale, top, total, first - ahead, length - ahead, CAUSAL, GROUP, True
    )
    weights = gl.convert_layout(weights.to(kind), WEIGHTS)

    after = base + 1
    mbarrier.wait(k_full.index(after % STAGES), after // STAGES & 1, pred=count > 1)
    for one in range(1, masked):
        acc, weights, kept, top, total = advance(
            q_tile, ring, none, acc, weights, kept, top, total, base + one, base + count,
            first - ahead + one * BLOCK_N, length - ahead + one * BLOCK_N, scale, kind,
            CAUSAL, GROUP, STAGES, True,
        )  # fmt: skip
    for one in range(masked, count):
        acc, weights, kept, top, total = advance(
            q_tile, ring, none, acc, weights, kept, top, total, base + one, base + count,
            first, length, scale, kind, CAUSAL, GROUP, STAGES, False,
        )  # fmt: skip

    end = base + count - 1
    mbarrier.wait(v_full.index(end % STAGES), end // STAGES & 1)
    acc = warpgroup_mma(weights, v_ring.index(end % STAGES), acc * kept[:, None], is_async=True)
    acc = warpgroup_mma_wait(0, deps=[acc])
    release(v_free.index(end % STAGES))
    return acc, top, total


@gluon.jit
def advance(
    q_tile, ring, none, acc, weights, kept, top, total, one, end, first, rest, scale,
    kind: gl.constexpr,
    CAUSAL: gl.constexpr,
    GROUP: gl.constexpr,
    STAGES: gl.constexpr,
    MASK: gl.constexpr,
):  # fmt: skip
    """Add the values at place `one` - 1 by their weights, and make the weights of place `one`.

    Of the sums so far `kept` remains: they are scaled while the tensor cores work at the scores.
    """
    k_ring, v_ring, k_full, v_full, k_free, v_free = ring
    stage, before, after = one % STAGES, (one - 1) % STAGES, (one + 1) % STAGES
    scores = warpgroup_mma(
        q_tile, k_ring.index(stage).permute((1, 0)), none, use_acc=False, is_async=True
    )
    acc = acc * kept[:, None]
    mbarrier.wait(v_full.index(before), (one - 1) // STAGES & 1)
    acc = warpgroup_mma(weights, v_ring.index(before), acc, is_async=True)
    scores = warpgroup_mma_wait(1, deps=[scores])
    release(k_free.index(stage))
    following, keep, top, total = weigh(scores, scale, top, total, first, rest, CAUSAL, GROUP, MASK)
    following = gl.convert_layout(following.to(kind), weights.type.layout)
    # a branch, before which the weights are computed: not after the products have come
    mbarrier.wait(k_full.index(after), (one + 1) // STAGES & 1, pred=one + 1 < end)
    acc, weights, following, keep = warpgroup_mma_wait(0, deps=[acc, weights, following, keep])
    release(v_free.index(before))
    return acc, following, keep, top, total


@gluon.jit
def weigh(
    scores, scale, top, total, first, rest,
    CAUSAL: gl.constexpr,
    GROUP: gl.constexpr,
    MASK: gl.constexpr,
):  # fmt: skip
    """Weights of scores; what is kept of the sums so far; the new top and total.

    MASK: the prompt has `rest` keys from here on, of which causal queries see the first ones, of
    the first row those up to number `first`. A query may have seen none yet.
    """
    SCORES: gl.constexpr = scores.type.layout
    if MASK:
        key = gl.arange(0, scores.shape[1], gl.SliceLayout(0, SCORES))[None, :]
        visible = key < rest
        if CAUSAL:
            slot = gl.arange(0, CONSUMER, gl.SliceLayout(1, SCORES))[:, None]
            # rows that are not there see no more than the prompt
            visible = key <= gl.minimum(first + slot // GROUP, rest - 1)
        scores = gl.where(visible, scores, NONE)
    highest = gl.convert_layout(gl.max(scores, 1), top.type.layout, assert_trivial=True)
    highest = gl.maximum(top, highest * scale)
    base = highest
    if MASK:
        base = gl.where(highest == NONE, 0.0, highest)  # -inf - -inf would be NaN
    kept = gl.exp2(top - base)
    across = gl.convert_layout(base, gl.SliceLayout(1, SCORES), assert_trivial=True)
    weights = gl.exp2(scores * scale - across[:, None])
    added = gl.convert_layout(gl.sum(weights, 1), top.type.layout, assert_trivial=True)
    return weights, kept, highest, total * kept + added
