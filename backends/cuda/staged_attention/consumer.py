"""What a consumer of the sm_90 kernel does: 64 query vectors over the prompt and own tokens."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
# triton compiles the functions here from their source; their arguments are no Python values

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    async_copy,
    fence_async_shared,
    mbarrier,
    warpgroup_mma,
    warpgroup_mma_wait,
)

from xgr.backends.cuda.gluon import barrier, load_rows

# query vectors of a consumer: the rows of a warpgroup's product
CONSUMER = gl.constexpr(64)
NONE = gl.constexpr(float("-inf"))
LN_2 = gl.constexpr(0.6931471805599453)


@gluon.constexpr_function
def product(columns):
    """Layout of a product [CONSUMER, columns] in the registers of a warpgroup."""
    return gl.NVMMADistributedLayout([3, 0], [4, 1], [16, columns, 16])


@gluon.constexpr_function
def vectors(size):
    """Layout in which a warpgroup reads and writes vectors of `size` elements, 16 bytes each."""
    return gl.BlockedLayout([1, 8], [256 // size, size // 8], [4, 1], [1, 0])


@gluon.jit
def consume(
    which, work,
    AT: gl.constexpr,
    GROUP: gl.constexpr,
    SIZE: gl.constexpr,
    BLOCK_N: gl.constexpr,
    BLOCK_OWN: gl.constexpr,
    STAGES: gl.constexpr,
    SPLITS: gl.constexpr,
):  # fmt: skip
    """Attend with the query vectors of consumer `which`, and write or leave what comes of it."""
    (
        q, k_own, v_own, ancestors, out, lse, sums, stats, arrivals, ring, q_tiles, k_tiles,
        v_tiles, begin, end, alive, group, count, rest, own, place, part, parts, scale,
    ) = work  # fmt: skip
    ROWS: gl.constexpr = CONSUMER // GROUP
    VECTORS: gl.constexpr = vectors(SIZE)
    ACC: gl.constexpr = product(SIZE)
    kind: gl.constexpr = q.dtype.element_ty
    begin += which * ROWS
    place += which
    q_tile = q_tiles.index(which)

    slot = gl.arange(0, CONSUMER, gl.SliceLayout(1, VECTORS))
    row = begin + slot // GROUP
    head = group * GROUP + slot % GROUP
    packed = slot < ROWS * GROUP
    column = gl.arange(0, SIZE, gl.SliceLayout(0, VECTORS))
    at = q + row.to(gl.int64) * AT[0][0] + head * AT[0][1]
    seen = packed & (row < alive)
    q_tile.store(gl.load(at[:, None] + column[None, :], mask=seen[:, None], other=0.0))
    if k_own is not None:
        k_tile, v_tile = k_tiles.index(which), v_tiles.index(which)
        fetch_own(
            k_own, v_own, ancestors, k_tile, v_tile, begin, alive, group, 0, own,
            AT, ROWS, SIZE, BLOCK_OWN,
        )  # fmt: skip
    fence_async_shared()
    barrier()

    acc = gl.zeros([CONSUMER, SIZE], gl.float32, ACC)
    top = gl.full([CONSUMER], NONE, gl.float32, gl.SliceLayout(1, ACC))
    total = gl.zeros([CONSUMER], gl.float32, gl.SliceLayout(1, ACC))
    if count > 0:
        acc, top, total = attend_prompt(
            q_tile, ring, acc, top, total, count, rest, scale, kind, SIZE, BLOCK_N, STAGES
        )
    begin = again(begin)
    if k_own is not None:
        for first in range(0, own * ROWS, BLOCK_OWN):
            if first > 0:
                fetch_own(
                    k_own, v_own, ancestors, k_tile, v_tile, begin, alive, group, first, own,
                    AT, ROWS, SIZE, BLOCK_OWN,
                )  # fmt: skip
            async_copy.wait_group(0)
            fence_async_shared()
            barrier()
            acc, top, total = attend_own(
                q_tile, k_tile, v_tile, acc, top, total, begin, alive, first, own, scale, kind,
                GROUP, ROWS, SIZE, BLOCK_OWN,
            )  # fmt: skip
            barrier()

    done = parts == 1
    if SPLITS > 1:  # noqa: SIM102 - without splits the compiler must not see the workspaces
        if parts > 1:
            first_part = place * SPLITS
            leave(acc, top, total, sums, stats, first_part + part, SIZE)
            done = is_last(arrivals, place, parts)
            if done:
                acc, top, total = join(sums, stats, first_part, parts, SIZE)
    if done:
        index = gl.arange(0, CONSUMER, gl.SliceLayout(1, ACC))
        one = begin + index // GROUP
        inside = (index < ROWS * GROUP) & (one < end)
        living = inside & (one < alive)
        total = gl.where(total == 0, 1.0, total)  # top is -inf then
        # a division a row, not an element
        acc = gl.where(living[:, None], acc * (1 / total)[:, None], 0.0)
        stat = gl.where(living, (top + gl.log2(total)) * LN_2, NONE)
        at = lse + one.to(gl.int64) * AT[5][0] + group * GROUP + index % GROUP
        gl.store(at, stat, mask=inside)
        # through shared memory, for writes of 16 bytes
        q_tile.store(acc.to(kind))
        barrier()
        row = begin + slot // GROUP
        at = out + row.to(gl.int64) * AT[4][0] + head * AT[4][1]
        inside = packed & (row < end)
        gl.store(at[:, None] + column[None, :], q_tile.load(VECTORS), mask=inside[:, None])


@gluon.jit
def again(value):
    """The value; what follows from it is worked out anew, not kept in registers till here."""
    move: gl.constexpr = "mov.b32 $0, $1;"
    return gl.inline_asm_elementwise(move, "=r,r", [value], dtype=gl.int32, is_pure=False, pack=1)


@gluon.jit
def attend_prompt(
    q_tile, ring, acc, top, total, count, rest, scale,
    kind: gl.constexpr,
    SIZE: gl.constexpr,
    BLOCK_N: gl.constexpr,
    STAGES: gl.constexpr,
):  # fmt: skip
    """Add `count` units of the prompt from the ring; of the first, only the first `rest` keys."""
    k_ring, v_ring, k_full, v_full, k_free, v_free = ring
    SCORES: gl.constexpr = product(BLOCK_N)
    ACC: gl.constexpr = product(SIZE)
    WEIGHTS: gl.constexpr = gl.DotOperandLayout(0, ACC, 2)
    none = gl.zeros([CONSUMER, BLOCK_N], gl.float32, SCORES)

    mbarrier.wait(k_full.index(0), 0)
    scores = warpgroup_mma(
        q_tile, k_ring.index(0).permute((1, 0)), none, use_acc=False, is_async=True
    )
    scores = warpgroup_mma_wait(0, deps=[scores])
    release(k_free.index(0))
    key = gl.arange(0, BLOCK_N, gl.SliceLayout(0, SCORES))
    scores = gl.where((key < rest)[None, :], scores, NONE)
    weights, kept, top, total = weigh(scores, scale, top, total)
    weights = gl.convert_layout(weights.to(kind), WEIGHTS)
    if rest < BLOCK_N:
        mbarrier.wait(v_full.index(0), 0)
        clear(v_ring.index(0), rest, SIZE, BLOCK_N)

    mbarrier.wait(k_full.index(1 % STAGES), 1 // STAGES & 1, pred=count > 1)
    for one in range(1, count):
        stage = one % STAGES
        before, after = (one - 1) % STAGES, (one + 1) % STAGES
        scores = warpgroup_mma(
            q_tile, k_ring.index(stage).permute((1, 0)), none, use_acc=False, is_async=True
        )
        mbarrier.wait(v_full.index(before), (one - 1) // STAGES & 1)
        acc = warpgroup_mma(weights, v_ring.index(before), acc, is_async=True)
        scores = warpgroup_mma_wait(1, deps=[scores])
        release(k_free.index(stage))
        following, kept, top, total = weigh(scores, scale, top, total)
        following = gl.convert_layout(following.to(kind), WEIGHTS)
        # a branch, before which the weights are computed: not after the products have come
        mbarrier.wait(k_full.index(after), (one + 1) // STAGES & 1, pred=one + 1 < count)
        acc, weights, following, kept = warpgroup_mma_wait(0, deps=[acc, weights, following, kept])
        release(v_free.index(before))
        acc = acc * kept[:, None]
        weights = following

    before = (count - 1) % STAGES
    mbarrier.wait(v_full.index(before), (count - 1) // STAGES & 1)
    acc = warpgroup_mma(weights, v_ring.index(before), acc, is_async=True)
    acc = warpgroup_mma_wait(0, deps=[acc])
    return acc, top, total


@gluon.jit
def release(free):
    """Tell the producer that this consumer is done with a tile."""
    barrier()  # all four warps are
    mbarrier.arrive(free, count=1)


@gluon.jit
def clear(v_tile, rest, SIZE: gl.constexpr, BLOCK_N: gl.constexpr):
    """Zero values beyond the first `rest`: what lies there may be no number.

    The other consumer does the same, with the same values.
    """
    VECTORS: gl.constexpr = vectors(SIZE)
    key = gl.arange(0, BLOCK_N, gl.SliceLayout(1, VECTORS))
    values = v_tile.load(VECTORS)
    v_tile.store(gl.where((key < rest)[:, None], values, 0.0).to(values.dtype))
    fence_async_shared()
    barrier()


@gluon.jit
def weigh(scores, scale, top, total):
    """Weights of scores, one of which is finite in every row; what is kept; the new top, total."""
    ACC: gl.constexpr = top.type.layout
    highest = gl.convert_layout(gl.max(scores, 1), ACC, assert_trivial=True)
    highest = gl.maximum(top, highest * scale)
    kept = gl.exp2(top - highest)
    base = gl.convert_layout(highest, gl.SliceLayout(1, scores.type.layout), assert_trivial=True)
    weights = gl.exp2(scores * scale - base[:, None])
    added = gl.convert_layout(gl.sum(weights, 1), ACC, assert_trivial=True)
    return weights, kept, highest, total * kept + added


@gluon.jit
def fetch_own(
    k, v, ancestors, k_tile, v_tile, begin, alive, group, first, step,
    AT: gl.constexpr,
    ROWS: gl.constexpr,
    SIZE: gl.constexpr,
    BLOCK_OWN: gl.constexpr,
):  # fmt: skip
    """Begin to copy own keys `first` .., numbered slot by slot, ROWS rows a slot; 0 for none."""
    VECTORS: gl.constexpr = vectors(SIZE)
    number = first + gl.arange(0, BLOCK_OWN, gl.SliceLayout(1, VECTORS))
    slot = number // ROWS
    owner = begin + number % ROWS
    there = (slot < step) & (owner < alive)
    holder = owner.to(gl.int64)
    if ancestors is not None:
        at = ancestors + holder * AT[3][0] + slot
        holder = gl.load(at, mask=there, other=0).to(gl.int64)
    column = gl.arange(0, SIZE, gl.SliceLayout(0, VECTORS))[None, :]
    k_rows = k + holder * AT[1][0] + slot * AT[1][1] + group * AT[1][2]
    v_rows = v + holder * AT[2][0] + slot * AT[2][1] + group * AT[2][2]
    load_rows(k_tile, k_rows[:, None] + column, there[:, None])
    load_rows(v_tile, v_rows[:, None] + column, there[:, None])
    async_copy.commit_group()


@gluon.jit
def attend_own(
    q_tile, k_tile, v_tile, acc, top, total, begin, alive, first, step, scale,
    kind: gl.constexpr,
    GROUP: gl.constexpr,
    ROWS: gl.constexpr,
    SIZE: gl.constexpr,
    BLOCK_OWN: gl.constexpr,
):  # fmt: skip
    """Add a unit of own keys as `fetch_own` numbers them; a row sees those of its own beam."""
    SCORES: gl.constexpr = product(BLOCK_OWN)
    ACC: gl.constexpr = product(SIZE)
    none = gl.zeros([CONSUMER, BLOCK_OWN], gl.float32, SCORES)
    scores = warpgroup_mma(q_tile, k_tile.permute((1, 0)), none, use_acc=False, is_async=True)
    scores = warpgroup_mma_wait(0, deps=[scores])
    number = first + gl.arange(0, BLOCK_OWN, gl.SliceLayout(0, SCORES))
    there = (number // ROWS < step) & (begin + number % ROWS < alive)
    beam = gl.arange(0, CONSUMER, gl.SliceLayout(1, SCORES)) // GROUP
    mine = there[None, :] & (beam[:, None] == (number % ROWS)[None, :])
    scores = gl.where(mine, scores, NONE)

    highest = gl.convert_layout(gl.max(scores, 1), top.type.layout, assert_trivial=True)
    highest = gl.maximum(top, highest * scale)
    base = gl.where(highest == NONE, 0.0, highest)  # no key yet: -inf - -inf would be NaN
    kept = gl.exp2(top - base)
    across = gl.convert_layout(base, gl.SliceLayout(1, SCORES), assert_trivial=True)
    weights = gl.exp2(scores * scale - across[:, None])
    added = gl.convert_layout(gl.sum(weights, 1), top.type.layout, assert_trivial=True)
    weights = gl.convert_layout(weights.to(kind), gl.DotOperandLayout(0, ACC, 2))
    acc = warpgroup_mma(weights, v_tile, acc * kept[:, None], is_async=True)
    acc = warpgroup_mma_wait(0, deps=[acc])
    return acc, highest, total * kept + added


@gluon.jit
def tiled(at, row, column, SIZE: gl.constexpr):
    """Pointers to a slot's sums: 8 columns of 8 rows, which a warp holds, side by side."""
    at += row // 16 * (16 * SIZE) + row % 16 * 8
    return at[:, None] + (column // 8 * 128 + column % 8)[None, :]


@gluon.jit
def leave(acc, top, total, sums, stats, slot, SIZE: gl.constexpr):
    """Write a running softmax to a slot of the workspace."""
    row = gl.arange(0, CONSUMER, gl.SliceLayout(1, acc.type.layout))
    column = gl.arange(0, SIZE, gl.SliceLayout(0, acc.type.layout))
    place = slot.to(gl.int64) * CONSUMER
    gl.store(tiled(sums + place * SIZE, row, column, SIZE), acc)
    gl.store(stats + place * 2 + row, top)
    gl.store(stats + place * 2 + CONSUMER + row, total)


@gluon.jit
def is_last(arrivals, place, parts):
    """Count this part as done; whether all parts of the consumer's queries are."""
    barrier()  # every thread's writes come before the one thread's count
    last = gl.atomic_add(arrivals + place, 1, sem="acq_rel", scope="gpu") == parts - 1
    if last:
        gl.store(arrivals + place, 0)
    return last


@gluon.jit
def join(sums, stats, slot, parts, SIZE: gl.constexpr):
    """The running softmax over all parts, in their order; `slot` is the first one's."""
    ACC: gl.constexpr = product(SIZE)
    row = gl.arange(0, CONSUMER, gl.SliceLayout(1, ACC))
    column = gl.arange(0, SIZE, gl.SliceLayout(0, ACC))
    stats += slot.to(gl.int64) * (2 * CONSUMER) + row
    at = tiled(sums + slot.to(gl.int64) * (CONSUMER * SIZE), row, column, SIZE)
    acc = gl.zeros([CONSUMER, SIZE], gl.float32, ACC)
    top = gl.full([CONSUMER], NONE, gl.float32, gl.SliceLayout(1, ACC))
    total = gl.zeros([CONSUMER], gl.float32, gl.SliceLayout(1, ACC))
    # two at a time, all that is read of them at once
    for one in range(0, parts, 2):
        other = gl.minimum(one + 1, parts - 1)
        first, second = stats + one * (2 * CONSUMER), stats + other * (2 * CONSUMER)
        # other blocks wrote them: read past this SM's own cache
        first_top = gl.load(first, cache_modifier=".cg")
        second_top = gl.load(second, cache_modifier=".cg")
        first_total = gl.load(first + CONSUMER, cache_modifier=".cg")
        second_total = gl.load(second + CONSUMER, cache_modifier=".cg")
        values = gl.load(at + one * (CONSUMER * SIZE), cache_modifier=".cg")
        others = gl.load(at + other * (CONSUMER * SIZE), cache_modifier=".cg")
        second_top = gl.where(one + 1 < parts, second_top, NONE)
        highest = gl.maximum(top, gl.maximum(first_top, second_top))
        base = gl.where(highest == NONE, 0.0, highest)
        kept = gl.exp2(top - base)
        weight, more = gl.exp2(first_top - base), gl.exp2(second_top - base)
        total = total * kept + first_total * weight + second_total * more
        acc = acc * kept[:, None] + values * weight[:, None] + others * more[:, None]
        top = highest
    return acc, top, total
