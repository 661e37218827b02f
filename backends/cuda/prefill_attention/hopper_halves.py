"""Prefill attention for sm_90 where two consumers divide the keys of a tile, or of two tiles.

With few tiles the time of a launch is that of its longest one, which a single consumer takes unit
after unit. Here a block has a long tile and a short one of 64 query vectors. One consumer takes
half of all units, from the end of the long tile's keys. The other takes the beginning of those and
leaves a running softmax in shared memory for the first to add; then it does the short tile.
Every consumer has a ring of its own.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
# triton compiles the functions here from their source; their arguments are no Python values

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from xgr.backends.cuda.gluon import barrier
from xgr.backends.cuda.prefill_attention.hopper_kernel import again, attend, fetch, find, write
from xgr.backends.cuda.staged_attention.consumer import CONSUMER, NONE, product
from xgr.backends.cuda.staged_attention.hopper_kernel import EVERY_WARP, copy


@gluon.jit(do_not_specialize=["rows", "requests", "tiles"])
def hopper_halves_kernel(
    q, k, v, q_start, prompt_start, prompt_len, out,
    rows, requests, tiles, scale, k_head, v_head,
    AT: gl.constexpr,
    CAUSAL: gl.constexpr,
    GROUP: gl.constexpr,
    SIZE: gl.constexpr,
    REQUESTS: gl.constexpr,
    BLOCK_N: gl.constexpr,
    STAGES: gl.constexpr,
    PAIRS: gl.constexpr,
):  # fmt: skip
    """Grid: (G, places).

    Arguments are those of `hopper_prefill_kernel`, and:
        tiles: of all rows. Of the last requests + 1 most are empty: a place has one of them, after
            one of the others, or two of those (PAIRS), the longest with the shortest.
    """
    gdc_launch_dependents()
    ROWS: gl.constexpr = CONSUMER // GROUP
    TILE: gl.constexpr = k.layout
    QUERIES: gl.constexpr = gl.NVMMASharedLayout.get_default_for([CONSUMER, SIZE], k.dtype)
    # 8 columns of 8 rows, which a warp writes at once, lie in different banks
    SUMS: gl.constexpr = gl.SwizzledSharedLayout(8, 1, 8, [1, 0])
    STATS: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    long_q = gl.allocate_shared_memory(k.dtype, [CONSUMER, SIZE], QUERIES)
    short_q = gl.allocate_shared_memory(k.dtype, [CONSUMER, SIZE], QUERIES)
    sums = gl.allocate_shared_memory(gl.float32, [CONSUMER, SIZE], SUMS)
    tops = gl.allocate_shared_memory(gl.float32, [CONSUMER], STATS)
    totals = gl.allocate_shared_memory(gl.float32, [CONSUMER], STATS)
    signals: gl.constexpr = mbarrier.MBarrierLayout()
    fetched = gl.allocate_shared_memory(gl.int64, [1], signals)
    left = gl.allocate_shared_memory(gl.int64, [1], signals)
    mbarrier.init(fetched, count=1)
    mbarrier.init(left, count=1)

    group, place = gl.program_id(0), gl.program_id(1)
    gdc_wait()
    # rows of nobody are those of one request more, which has no keys
    index = gl.arange(0, REQUESTS, EVERY_WARP)
    listed = index < requests
    starts = gl.load(q_start + index, mask=index <= requests, other=rows)
    prompts = gl.load(prompt_start + index, mask=listed, other=0)
    lengths = gl.load(prompt_len + index, mask=listed, other=0)
    used = tiles - requests - 1
    # a tile that is not there is one beyond all rows
    long = gl.where(place < used, used - 1 - place, tiles)
    short = tiles
    if PAIRS:
        short = gl.where(2 * place + 1 < used, place, tiles)
        long = gl.where(2 * place < used, long, tiles)
    last = gl.where(place <= requests, used + place, tiles)
    facts = (index, starts, prompts, lengths, requests, rows)
    long = find(long, facts, CAUSAL, ROWS, BLOCK_N)
    short = find(short, facts, CAUSAL, ROWS, BLOCK_N)
    last = find(last, facts, CAUSAL, ROWS, BLOCK_N)
    own = gl.minimum(gl.cdiv(long[3] + short[3] + last[3], 2), long[3])
    rest = long[3] - own

    first_ring = ring(k.dtype, TILE, SIZE, BLOCK_N, STAGES)
    second_ring = ring(k.dtype, TILE, SIZE, BLOCK_N, STAGES)
    shared = (long_q, sums, tops, totals, fetched, left)
    work = (q, out, first_ring, shared, long, own, rest, group, scale)
    others = (q, out, second_ring, shared, short_q, long, short, last, rest, group, scale)
    k_column, v_column = group * k_head, group * v_head
    bring = (k, v, first_ring, long, own, k_column, v_column)
    bring_others = (k, v, second_ring, long, short, last, rest, k_column, v_column)
    gl.warp_specialize(
        [
            (take_end, (work, AT, CAUSAL, GROUP, SIZE, BLOCK_N, STAGES)),
            (take_others, (others, AT, CAUSAL, GROUP, SIZE, BLOCK_N, STAGES)),
            (produce_end, (bring, SIZE, BLOCK_N, STAGES)),
            (produce_others, (bring_others, SIZE, BLOCK_N, STAGES)),
        ],
        [4, 1, 1],
        [232, 24, 24],
    )


@gluon.jit
def ring(
    kind: gl.constexpr,
    TILE: gl.constexpr,
    SIZE: gl.constexpr,
    BLOCK_N: gl.constexpr,
    STAGES: gl.constexpr,
):  # fmt: skip
    """A ring of tiles of K and of V for one consumer, and what signals them full and free."""
    signals: gl.constexpr = mbarrier.MBarrierLayout()
    k_tiles = gl.allocate_shared_memory(kind, [STAGES, BLOCK_N, SIZE], TILE)
    v_tiles = gl.allocate_shared_memory(kind, [STAGES, BLOCK_N, SIZE], TILE)
    k_full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], signals)
    v_full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], signals)
    k_free = gl.allocate_shared_memory(gl.int64, [STAGES, 1], signals)
    v_free = gl.allocate_shared_memory(gl.int64, [STAGES, 1], signals)
    for stage in gl.static_range(STAGES):
        mbarrier.init(k_full.index(stage), count=1)
        mbarrier.init(v_full.index(stage), count=1)
        mbarrier.init(k_free.index(stage), count=1)
        mbarrier.init(v_free.index(stage), count=1)
    return k_tiles, v_tiles, k_full, v_full, k_free, v_free


@gluon.jit
def take_end(
    work,
    AT: gl.constexpr,
    CAUSAL: gl.constexpr,
    GROUP: gl.constexpr,
    SIZE: gl.constexpr,
    BLOCK_N: gl.constexpr,
    STAGES: gl.constexpr,
):  # fmt: skip
    """Attend to the last `own` units of the long tile, add what the other consumer left, write."""
    q, out, ring, shared, tile, own, rest, group, scale = work
    q_tile, sums, tops, totals, fetched, left = shared
    _, begin, end, count, length, before = tile
    ACC: gl.constexpr = product(SIZE)
    fetch(q, q_tile, begin, end, group, AT[0][0], AT[0][1], GROUP, SIZE)
    mbarrier.arrive(fetched, count=1)
    acc = gl.zeros([CONSUMER, SIZE], gl.float32, ACC)
    total = gl.zeros([CONSUMER], gl.float32, gl.SliceLayout(1, ACC))
    top = gl.full([CONSUMER], NONE, gl.float32, gl.SliceLayout(1, ACC))
    if own > 0:
        acc, top, total = attend(
            q_tile, ring, 0, acc, total, begin + before, count - 1, own, length, scale,
            q.dtype.element_ty, CAUSAL, GROUP, SIZE, BLOCK_N, STAGES,
        )  # fmt: skip
    if rest > 0:
        mbarrier.wait(left, 0)
        other_top = tops.load(gl.SliceLayout(1, ACC))
        other_total = totals.load(gl.SliceLayout(1, ACC))
        # finite: all queries see the keys at the beginning
        highest = gl.maximum(top, other_top)
        kept, weight = gl.exp2(top - highest), gl.exp2(other_top - highest)
        total = total * kept + other_total * weight
        acc = acc * kept[:, None] + sums.load(ACC) * weight[:, None]
    write(out, q_tile, acc, total, again(begin), end, group, AT[1][0], AT[1][1], GROUP, SIZE)


@gluon.jit
def take_others(
    work,
    AT: gl.constexpr,
    CAUSAL: gl.constexpr,
    GROUP: gl.constexpr,
    SIZE: gl.constexpr,
    BLOCK_N: gl.constexpr,
    STAGES: gl.constexpr,
):  # fmt: skip
    """Leave the running softmax of the first `rest` units of the long tile; do the other tiles."""
    q, out, ring, shared, q_tile, tile, short, last, rest, group, scale = work
    long_q, sums, tops, totals, fetched, left = shared
    ACC: gl.constexpr = product(SIZE)
    kind: gl.constexpr = q.dtype.element_ty
    acc = gl.zeros([CONSUMER, SIZE], gl.float32, ACC)
    total = gl.zeros([CONSUMER], gl.float32, gl.SliceLayout(1, ACC))
    fetch(q, q_tile, short[1], short[2], group, AT[0][0], AT[0][1], GROUP, SIZE)
    if rest > 0:
        mbarrier.wait(fetched, 0)
        some, top, part = attend(
            long_q, ring, 0, acc, total, tile[1] + tile[5], rest - 1, rest, tile[4], scale,
            kind, CAUSAL, GROUP, SIZE, BLOCK_N, STAGES,
        )  # fmt: skip
        sums.store(some)
        tops.store(top)
        totals.store(part)
        barrier()
        mbarrier.arrive(left, count=1)
    base = rest
    pieces = gl.where(last[1] < last[2], 2, 1)
    for piece in range(pieces):
        begin = gl.where(piece == 0, short[1], last[1])
        end = gl.where(piece == 0, short[2], last[2])
        count = gl.where(piece == 0, short[3], last[3])
        length = gl.where(piece == 0, short[4], last[4])
        before = gl.where(piece == 0, short[5], last[5])
        if piece > 0:
            barrier()  # until all have read what they write
            fetch(q, q_tile, begin, end, group, AT[0][0], AT[0][1], GROUP, SIZE)
        some, part = acc, total
        if count > 0:
            some, _, part = attend(
                q_tile, ring, base, acc, total, begin + before, count - 1, count, length, scale,
                kind, CAUSAL, GROUP, SIZE, BLOCK_N, STAGES,
            )  # fmt: skip
        write(out, q_tile, some, part, again(begin), end, group, AT[1][0], AT[1][1], GROUP, SIZE)
        base += count


@gluon.jit
def produce_end(work, SIZE: gl.constexpr, BLOCK_N: gl.constexpr, STAGES: gl.constexpr):
    """Copy what `take_end` reads, in its order: K of a unit before V of the unit before."""
    k, v, ring, tile, own, k_column, v_column = work
    for one in range(own + 1):
        row = tile[0] + (tile[3] - 1 - one) * BLOCK_N
        if one < own:
            copy_at(k, row, k_column, ring, True, one, SIZE, BLOCK_N, STAGES)
        if one > 0:
            copy_at(v, row + BLOCK_N, v_column, ring, False, one - 1, SIZE, BLOCK_N, STAGES)


@gluon.jit
def produce_others(work, SIZE: gl.constexpr, BLOCK_N: gl.constexpr, STAGES: gl.constexpr):
    """Copy what `take_others` reads, in its order: K of a unit before V of the unit before."""
    k, v, ring, long, short, last, rest, k_column, v_column = work
    count = rest + short[3] + last[3]
    before = 0
    for one in range(count + 1):
        # how many units of the tile are left, from here on
        unit, prompt = rest - one, long[0]
        if unit <= 0:
            unit, prompt = unit + short[3], short[0]
        if unit <= 0:
            unit, prompt = unit + last[3], last[0]
        row = prompt + (unit - 1) * BLOCK_N
        if one < count:
            copy_at(k, row, k_column, ring, True, one, SIZE, BLOCK_N, STAGES)
        if one > 0:
            copy_at(v, before, v_column, ring, False, one - 1, SIZE, BLOCK_N, STAGES)
        before = row


@gluon.jit
def copy_at(
    source, row, column, ring,
    KEYS: gl.constexpr,
    place,
    SIZE: gl.constexpr,
    BLOCK_N: gl.constexpr,
    STAGES: gl.constexpr,
):  # fmt: skip
    """Copy a tile of K (KEYS) or of V to a place of the ring."""
    tiles, full, free = ring[0 if KEYS else 1], ring[2 if KEYS else 3], ring[4 if KEYS else 5]
    stage, odd = place % STAGES, place // STAGES & 1
    copy(source, row, column, tiles, full, free, stage, odd, SIZE, BLOCK_N)
