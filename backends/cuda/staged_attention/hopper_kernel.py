"""The kernel of staged and shared attention for sm_90: loads, products and softmax side by side.

A block has up to two consumers of 64 query vectors each, four warps that multiply and keep the
softmax, and one warp that copies K and V of the prompt into a ring of tiles in shared memory (TMA).
A consumer issues the scores of the next unit and the sums of this one, and works out the next
weights while the tensor cores are busy: the schedule of FlashAttention-3 (Shah et al., 2024).
Own keys are copied to shared memory before the prompt is read, and multiplied after it as a dense
unit in which a row sees its own beam's. Units go backwards: the one that the prompt may end in is
the first, so that no other has a mask.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
# triton compiles the functions here from their source; their arguments are no Python values

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from xgr.backends.cuda.gluon import load_tile
from xgr.backends.cuda.staged_attention.consumer import CONSUMER, consume

# keys of the prompt that take as long as the own ones of a tile
OWN_KEYS = gl.constexpr(128)
# every warp holds a vector whole, and so sums it by itself
EVERY_WARP = gl.constexpr(gl.SliceLayout(1, gl.BlockedLayout([1, 1], [32, 1], [1, 4], [0, 1])))


@gluon.jit(do_not_specialize=["rows", "requests", "step"])
def hopper_kernel(
    q, k, v, k_own, v_own, ancestors,
    prompt_start, prompt_len, row_start, live,
    out, lse, sums, stats, arrivals,
    rows, requests, step, scale, k_head, v_head,
    AT: gl.constexpr,
    GROUP: gl.constexpr,
    SIZE: gl.constexpr,
    REQUESTS: gl.constexpr,
    CONSUMERS: gl.constexpr,
    BLOCK_N: gl.constexpr,
    BLOCK_OWN: gl.constexpr,
    STAGES: gl.constexpr,
    SPLITS: gl.constexpr,
    CHUNK: gl.constexpr,
):  # fmt: skip
    """Grid: (G * SPLITS, tiles).

    What it takes:
        q: [rows, H, SIZE].
        k, v: tensor descriptors of the prompts' [T, columns], a tile [BLOCK_N, SIZE].
        k_own, v_own: [rows, S, G, SIZE]; None without an unshared stage.
        ancestors: int32 [rows, S] or None.
        prompt_start, prompt_len: int32 [requests].
        row_start: int32 [requests + 1].
        live: int32 [requests].
        out: [rows, H, SIZE].
        lse: float32 [rows, H].
        sums, stats, arrivals: workspaces of the parts; None where SPLITS is 1.
        rows, requests: sizes.
        step: valid own slots.
        scale: > 0, of the scores, in units of log2.
        k_head, v_head: columns from one kv head to the next.
        AT: strides of q, k_own, v_own, ancestors, out and lse in all axes but the last, whose
            stride is 1; constants, for want of registers.
        GROUP: H // G, at most 64.
        SIZE: elements of a head, 64 or 128.
        REQUESTS: power of two above `requests`.
        CONSUMERS: 1 or 2.
        BLOCK_N, BLOCK_OWN: keys of a unit of the prompt, and of own tokens.
        STAGES: tiles of the ring, of K and of V each.
        SPLITS: greatest number of parts of a tile.
        CHUNK: least number of units of a part.
    """
    gdc_launch_dependents()
    TILE: gl.constexpr = k.layout
    PLACES: gl.constexpr = gl.NVMMASharedLayout.get_default_for([CONSUMER, SIZE], k.dtype)
    k_ring = gl.allocate_shared_memory(k.dtype, [STAGES, BLOCK_N, SIZE], TILE)
    v_ring = gl.allocate_shared_memory(k.dtype, [STAGES, BLOCK_N, SIZE], TILE)
    q_tile = gl.allocate_shared_memory(k.dtype, [CONSUMERS, CONSUMER, SIZE], PLACES)
    own_shape: gl.constexpr = [CONSUMERS, BLOCK_OWN if k_own is not None else 8, SIZE]
    k_tile = gl.allocate_shared_memory(k.dtype, own_shape, PLACES)
    v_tile = gl.allocate_shared_memory(k.dtype, own_shape, PLACES)
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

    ROWS: gl.constexpr = CONSUMER // GROUP * CONSUMERS
    group, part, tile = gl.program_id(0) // SPLITS, gl.program_id(0) % SPLITS, gl.program_id(1)

    index = gl.arange(0, REQUESTS, EVERY_WARP)
    near = gl.minimum(index, requests - 1)
    warm(row_start + near)
    warm(live + near)
    warm(prompt_start + near)
    warm(prompt_len + near)
    # up to here while the launch before still runs, whose results are read from here on
    gdc_wait()
    # rows of nobody are those of one request more, of which none is live
    listed = index < requests
    starts = gl.load(row_start + index, mask=index <= requests, other=rows)
    lives = gl.load(live + index, mask=listed, other=0)
    prompts = gl.load(prompt_start + index, mask=listed, other=0)
    lengths = gl.load(prompt_len + index, mask=listed, other=0)
    mine = (index <= requests) & (starts // ROWS + index <= tile)
    request = gl.sum(mine.to(gl.int32), 0) - 1
    start = pick(starts, index, request)
    end = gl.where(request < requests, pick(starts, index, request + 1), rows)
    alive = start + pick(lives, index, request)
    begin = start + (tile - (start // ROWS + request)) * ROWS
    if begin >= end:
        return
    prompt, length = pick(prompts, index, request), pick(lengths, index, request)
    units = gl.where(begin < alive, gl.cdiv(length, BLOCK_N), 0)
    # the first part has the own tokens as well, and so many units less
    less = 0
    if k_own is not None:
        less = gl.where((units > 0) & (step > 0), OWN_KEYS // BLOCK_N, 0)
    share = gl.maximum(gl.cdiv(units + less, SPLITS), gl.maximum(CHUNK, less + 1))
    parts = gl.maximum(gl.cdiv(units + less, share), 1)
    if part >= parts:
        return
    unit = gl.maximum(part * share - less, 0)
    last = gl.minimum((part + 1) * share - less, units) - 1
    count = last + 1 - unit
    own = gl.where((part == 0) & (begin < alive), step, 0)

    ring = (k_ring, v_ring, k_full, v_full, k_free, v_free)
    place = (tile * (gl.num_programs(0) // SPLITS) + group) * CONSUMERS
    rest = length - last * BLOCK_N
    work = (
        q, k_own, v_own, ancestors, out, lse, sums, stats, arrivals, ring, q_tile, k_tile, v_tile,
        begin, end, alive, group, count, rest, own, place, part, parts, scale,
    )  # fmt: skip
    bring = (k, v, ring, prompt, group * k_head, group * v_head, last, count)
    # constants would be values in the tuples above
    if CONSUMERS == 2:
        gl.warp_specialize(
            [
                (consume, (0, work, AT, GROUP, SIZE, BLOCK_N, BLOCK_OWN, STAGES, SPLITS)),
                (consume, (1, work, AT, GROUP, SIZE, BLOCK_N, BLOCK_OWN, STAGES, SPLITS)),
                (produce, (bring, SIZE, BLOCK_N, STAGES)),
            ],
            [4, 1],
            [240, 24],
        )
    else:
        gl.warp_specialize(
            [
                (consume, (0, work, AT, GROUP, SIZE, BLOCK_N, BLOCK_OWN, STAGES, SPLITS)),
                (produce, (bring, SIZE, BLOCK_N, STAGES)),
            ],
            [1],
            [24],
        )


@gluon.jit
def warm(at):
    """Bring lines to the L2 cache, where a launch that still writes them finds them too."""
    fetch: gl.constexpr = "prefetch.global.L2 [$1]; mov.b32 $0, 0;"
    gl.inline_asm_elementwise(fetch, "=r,l", [at], dtype=gl.int32, is_pure=False, pack=1)


@gluon.jit
def pick(values, index, at):
    """values[at] of a vector in registers; a load would wait for the memory a second time."""
    return gl.sum(gl.where(index == at, values, 0), 0)


@gluon.jit
def produce(work, SIZE: gl.constexpr, BLOCK_N: gl.constexpr, STAGES: gl.constexpr):
    """Copy units `last`, `last` - 1, .., `count` of them, into the ring."""
    k, v, ring, prompt, k_column, v_column, last, count = work
    k_ring, v_ring, k_full, v_full, k_free, v_free = ring
    for one in range(count):
        stage, odd = one % STAGES, one // STAGES & 1
        row = prompt + (last - one) * BLOCK_N
        copy(k, row, k_column, k_ring, k_full, k_free, stage, odd, SIZE, BLOCK_N)
        copy(v, row, v_column, v_ring, v_full, v_free, stage, odd, SIZE, BLOCK_N)


@gluon.jit
def copy(
    source, row, column, ring, full, free, stage, odd,
    SIZE: gl.constexpr,
    BLOCK_N: gl.constexpr,
):  # fmt: skip
    """Copy one tile into the ring once its place is free."""
    mbarrier.wait(free.index(stage), odd ^ 1)
    arrived = full.index(stage)
    mbarrier.expect(arrived, BLOCK_N * SIZE * (source.dtype.primitive_bitwidth // 8))
    load_tile(source, [row, column], arrived, ring.index(stage))
