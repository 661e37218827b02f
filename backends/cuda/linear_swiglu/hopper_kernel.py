"""The kernel of linear_swiglu for sm_90: copies, products and the gate side by side.

A block takes tiles of 128 rows one after the other. Two consumers of 64 rows each, four warps that
multiply, share the weights; one warp copies x and weights into a ring in shared memory (TMA), on to
the next tile while the last one's gate is worked out. Every row of x passes by whole: while the
tensor cores are busy a consumer adds up its squares, and divides by the norm in the end.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
# triton compiles the functions here from their source; their arguments are no Python values

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)

from xgr.backends.cuda.gluon import barrier, load_tile
from xgr.backends.cuda.linear_swiglu.tiles import BLOCK as COPIED
from xgr.backends.cuda.staged_attention.consumer import CONSUMER, product, release

# rows and columns of what is copied at a time, and bytes of an element
BLOCK = gl.constexpr(COPIED)
ITEM = gl.constexpr(2)
# tiles of so many rows share weights that are in the L2 cache: rows that come before columns
NEAR = gl.constexpr(16)
# in which a consumer reads its rows of x, 16 bytes a thread, and the same with those bytes apart
READ = gl.constexpr(gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0]))
PIECES = gl.constexpr(gl.BlockedLayout([1, 1, 8], [4, 8, 1], [4, 1, 1], [2, 1, 0]))

# (descriptor, coordinates, tile) from shared memory; its name before Triton 3.9 is the other
store_tile = getattr(tma, "async_store", None) or tma.async_copy_shared_to_global


@gluon.jit(do_not_specialize=["down", "across", "steps", "width", "size"])
def hopper_gate_kernel(
    x, weight, out,
    down, across, steps, width, size, eps,
    WIDE: gl.constexpr,
    SLIM: gl.constexpr,
    STAGES: gl.constexpr,
):  # fmt: skip
    """Grid: (blocks), of which each takes every so manyth tile.

    What it takes:
        x, weight, out: tensor descriptors of [N, width], [2 size, width] and [N, size], in
            blocks of [BLOCK, BLOCK].
        down, across: tiles of the output.
        steps: blocks of a row of x.
        eps: added to the mean square of a row.
        WIDE, SLIM: columns of a tile, in two parts for products of 2 WIDE and 2 SLIM columns, the
            gate's and those that it gates: 2 BLOCK, and BLOCK or 0.
        STAGES: places of the ring, at least 3.
    """
    gl.static_assert(WIDE == 2 * BLOCK)
    gl.static_assert((SLIM == 0) | (SLIM == BLOCK))
    gl.static_assert(STAGES >= 3)
    kind: gl.constexpr = x.dtype
    TILE: gl.constexpr = x.layout
    x_ring = gl.allocate_shared_memory(kind, [STAGES * 2, CONSUMER, BLOCK], TILE)
    wide_ring = gl.allocate_shared_memory(kind, [STAGES, 2 * WIDE, BLOCK], TILE)
    # a shape of no rows is none
    slim_shape: gl.constexpr = [STAGES, 2 * SLIM, BLOCK] if SLIM else [1, 8, BLOCK]
    slim_ring = gl.allocate_shared_memory(kind, slim_shape, TILE)
    leaving = gl.allocate_shared_memory(kind, [4, CONSUMER, BLOCK], TILE)
    squares = gl.allocate_shared_memory(
        gl.float32, [2, CONSUMER], gl.SwizzledSharedLayout(1, 1, 1, [0])
    )
    signals: gl.constexpr = mbarrier.MBarrierLayout()
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], signals)
    free = gl.allocate_shared_memory(gl.int64, [STAGES, 1], signals)
    for stage in gl.static_range(STAGES):
        mbarrier.init(full.index(stage), count=1)
        mbarrier.init(free.index(stage), count=2)

    ring = (x_ring, wide_ring, slim_ring, full, free)
    extent = (down, across, steps)
    work = (ring, extent, out, leaving, squares, width, eps)
    gl.warp_specialize(
        [
            (consume, (0, work, WIDE, SLIM, STAGES)),
            (consume, (1, work, WIDE, SLIM, STAGES)),
            (produce, ((x, weight, ring, extent, size), WIDE, SLIM, STAGES)),
        ],
        [4, 1],
        [240, 24],
    )


@gluon.jit
def find(tile, down, across):
    """Row and column of a tile: NEAR rows of tiles, column by column, then the next ones."""
    group = tile // (NEAR * across)
    rows = gl.minimum(down - group * NEAR, NEAR)
    place = tile % (NEAR * across)
    return group * NEAR + place % rows, place // rows


@gluon.jit
def produce(work, WIDE: gl.constexpr, SLIM: gl.constexpr, STAGES: gl.constexpr):
    """Copy x and weights of one tile after the other into the ring, a block of columns a place."""
    x, weight, ring, extent, size = work
    x_ring, wide_ring, slim_ring, full, free = ring
    down, across, steps = extent
    PLACE: gl.constexpr = (2 * CONSUMER + 2 * WIDE + 2 * SLIM) * BLOCK * ITEM
    place = 0
    for tile in range(gl.program_id(0), down * across, gl.num_programs(0)):
        row, column = find(tile, down, across)
        row, column = row * (2 * CONSUMER), column * (WIDE + SLIM)
        for one in range(steps):
            stage, at = place % STAGES, one * BLOCK
            mbarrier.wait(free.index(stage), place // STAGES & 1 ^ 1)
            arrived = full.index(stage)
            mbarrier.expect(arrived, PLACE)
            load_tile(x, [row, at], arrived, x_ring.index(2 * stage))
            load_tile(x, [row + CONSUMER, at], arrived, x_ring.index(2 * stage + 1))
            load_both(weight, column, size, at, arrived, wide_ring.index(stage), WIDE)
            if SLIM:
                load_both(weight, column + WIDE, size, at, arrived, slim_ring.index(stage), SLIM)
            place += 1


@gluon.jit
def load_both(weight, column, size, at, arrived, tile, COUNT: gl.constexpr):
    """Copy weights of COUNT columns of the gate, and of those that it gates, to the halves."""
    for part in gl.static_range(COUNT // BLOCK):
        gate = column + part * BLOCK
        load_tile(weight, [gate, at], arrived, tile.slice(part * BLOCK, BLOCK))
        load_tile(weight, [size + gate, at], arrived, tile.slice(COUNT + part * BLOCK, BLOCK))


@gluon.jit
def consume(which, work, WIDE: gl.constexpr, SLIM: gl.constexpr, STAGES: gl.constexpr):
    """Multiply 64 rows of each tile, and write the gate of the sums."""
    ring, extent, out, leaving, squares, width, eps = work
    x_ring, wide_ring, slim_ring, full, free = ring
    down, across, steps = extent
    ACC: gl.constexpr = product(2 * WIDE)
    # columns of products that are not made, where there is no slim part
    FEWER: gl.constexpr = 2 * SLIM if SLIM else 8
    place = 0
    for tile in range(gl.program_id(0), down * across, gl.num_programs(0)):
        acc = gl.zeros([CONSUMER, 2 * WIDE], gl.float32, ACC)
        slim = gl.zeros([CONSUMER, FEWER], gl.float32, product(FEWER))
        square = gl.zeros([CONSUMER, 8], gl.float32, gl.SliceLayout(2, PIECES))
        mbarrier.wait(full.index(place % STAGES), place // STAGES & 1)
        for one in range(steps):
            stage, after = place % STAGES, place + 1
            rows = x_ring.index(2 * stage + which)
            columns = wide_ring.index(stage).permute((1, 0))
            acc = warpgroup_mma(rows, columns, acc, use_acc=one > 0, is_async=True)
            if SLIM:
                columns = slim_ring.index(stage).permute((1, 0))
                slim = warpgroup_mma(rows, columns, slim, use_acc=one > 0, is_async=True)
            square += add_squares(rows)
            mbarrier.wait(full.index(after % STAGES), after // STAGES & 1, pred=one + 1 < steps)
            # products of this step are under way, those of the step before are done
            if SLIM:
                acc, slim = warpgroup_mma_wait(2, deps=[acc, slim])
            else:
                acc = warpgroup_mma_wait(1, deps=[acc])
            if one > 0:
                release(free.index((place - 1) % STAGES))
            place = after
        if SLIM:
            acc, slim = warpgroup_mma_wait(0, deps=[acc, slim])
        else:
            acc = warpgroup_mma_wait(0, deps=[acc])
        release(free.index((place - 1) % STAGES))

        mine = squares.index(which)
        mine.store(gl.sum(square, 1))
        tma.store_wait(0)  # what the tile before left in shared memory is on its way
        barrier()
        scale = gl.rsqrt(mine.load(gl.SliceLayout(1, ACC)) / width + eps)
        row, column = find(tile, down, across)
        row, column = row * (2 * CONSUMER) + which * CONSUMER, column * (WIDE + SLIM)
        first = leaving.index(2 * which)
        low, high = halves(gate(acc, scale).to(x_ring.dtype))
        first.store(low)
        leaving.index(2 * which + 1).store(high)
        fence_async_shared()
        barrier()
        store_tile(out, [row, column], first)
        store_tile(out, [row, column + BLOCK], leaving.index(2 * which + 1))
        if SLIM:
            scale = gl.convert_layout(scale, gl.SliceLayout(1, product(FEWER)), assert_trivial=True)
            last = gate(slim, scale).to(x_ring.dtype)
            tma.store_wait(0)
            barrier()
            first.store(last)
            fence_async_shared()
            barrier()
            store_tile(out, [row, column + WIDE], first)
    tma.store_wait(0)


@gluon.jit
def add_squares(rows):
    """Of each row of a block, squares added up within a thread: [CONSUMER, 8]."""
    value = rows.load(READ).to(gl.float32).reshape([CONSUMER, 8, BLOCK // 8])
    value = gl.convert_layout(value, PIECES, assert_trivial=True)
    return gl.sum(value * value, 2)


@gluon.jit
def gate(acc, scale):
    """SwiGLU of sums [rows, gate and gated], each row divided by its norm."""
    low, high = halves(acc * scale[:, None])
    return low * sigmoid(low) * high


@gluon.jit
def halves(value):
    """Columns of the first and of the second half; a thread has as many of both."""
    HALF: gl.constexpr = value.shape[1] // 2
    return gl.split(value.reshape([value.shape[0], 2, HALF]).permute(0, 2, 1))


@gluon.jit
def sigmoid(x):
    """1 / (1 + exp(-x)) within some units of the last place of float32, in five instructions."""
    code: gl.constexpr = """
    {
    .reg .f32 e;
    mul.f32 e, $1, 0fBFB8AA3B;
    ex2.approx.ftz.f32 e, e;
    add.f32 e, e, 0f3F800000;
    rcp.approx.ftz.f32 $0, e;
    }
    """
    return gl.inline_asm_elementwise(code, "=f,f", [x], dtype=gl.float32, is_pure=True, pack=1)
