"""Device functions that the attention kernels share: where a tile lies, loads, online softmax.

A tile is up to BLOCK_M query vectors of one request and one kv head: ROWS = BLOCK_M // GROUP
consecutive rows with the GROUP query heads of that kv head side by side, so that K/V is read once
for all of them. Scores are kept in units of log2, where exp is one instruction.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
# triton compiles the functions here from their source; their arguments are no Python values

import triton
import triton.language as tl

LOG2_E = tl.constexpr(1.4426950408889634)
LN_2 = tl.constexpr(0.6931471805599453)
NONE = tl.constexpr(float("-inf"))
# columns of float32 that are multiplied at a time
EXACT_COLUMNS = tl.constexpr(16)


@triton.jit
def pick(values, index, at):
    """values[at] of a vector in registers; a load would wait for the memory a second time."""
    return tl.sum(tl.where(index == at, values, 0), 0)


@triton.jit
def first_tiles(starts, request, ROWS: tl.constexpr):
    """The first tile of each request.

    Request b begins at tile starts[b] // ROWS + b. That leaves at least as many tiles as its rows
    need, whatever the widths are, and costs no prefix sum; tiles left over are idle.
    """
    return starts // ROWS + request


@triton.jit
def load_tile(rows, inside, SIZE: tl.constexpr, COLUMNS: tl.constexpr, first=0):
    """Elements `first` .. `first` + COLUMNS - 1 of vectors of SIZE elements; 0 outside.

    `rows` are their addresses.
    """
    column = first + tl.arange(0, COLUMNS)
    mask = inside[:, None]
    if SIZE != COLUMNS:
        mask = mask & (column < SIZE)[None, :]
    return tl.load(rows[:, None] + column[None, :], mask=mask, other=0.0)


@triton.jit
def store_tile(rows, tile, inside, SIZE: tl.constexpr, BLOCK_D: tl.constexpr):
    """Write vectors of SIZE elements to the addresses `rows`."""
    column = tl.arange(0, BLOCK_D)
    mask = inside[:, None]
    if SIZE != BLOCK_D:
        mask = mask & (column < SIZE)[None, :]
    tl.store(rows[:, None] + column[None, :], tile.to(rows.dtype.element_ty), mask=mask)


@triton.jit
def dot(a, b, acc, WIDEN: tl.constexpr):
    """The sum acc + a @ b in float32. WIDEN: multiply in float32 what is narrower."""
    if WIDEN:  # the interpreter multiplies bfloat16 as if it were integers
        a, b = a.to(tl.float32), b.to(tl.float32)
    return tl.dot(a, b, acc, input_precision="ieee")


@triton.jit
def queries(rows, seen, SIZE: tl.constexpr, BLOCK_D: tl.constexpr):
    """What `score` takes as queries: vectors, or their addresses where they are float32."""
    if rows.dtype.element_ty == tl.float32:  # noqa: SIM108 - the two have different types
        taken = rows
    else:
        taken = load_tile(rows, seen, SIZE, BLOCK_D)
    return taken


@triton.jit
def score(q, seen, k_rows, there, SIZE: tl.constexpr, BLOCK_D: tl.constexpr, WIDEN: tl.constexpr):
    """Products of `queries` with the vectors at the addresses `k_rows`, [M, N] in float32.

    Tensor cores do not multiply float32 exactly, and without them every element of an operand
    sits in a register: float32 is read some columns at a time.
    """
    scores = tl.zeros([q.shape[0], k_rows.shape[0]], tl.float32)
    if k_rows.dtype.element_ty == tl.float32:
        for first in range(0, SIZE, EXACT_COLUMNS):
            part = load_tile(q, seen, SIZE, EXACT_COLUMNS, first)
            keys = load_tile(k_rows, there, SIZE, EXACT_COLUMNS, first)
            scores = dot(part, tl.trans(keys), scores, WIDEN)
    else:
        keys = load_tile(k_rows, there, SIZE, BLOCK_D)
        scores = dot(q, tl.trans(keys), scores, WIDEN)
    return scores


@triton.jit
def absorb(scores, scale, v, acc, top, total, WIDEN: tl.constexpr):
    """Add keys to a running softmax.

    What it takes:
        scores: [M, N], -inf where a query does not see a key.
        scale: > 0, what turns scores into units of log2.
        v: [N, D], the keys' values; finite where a key is not seen.
        acc: [M, D], sum of weighted values, relative to `top`.
        top: [M], greatest score so far in units of log2, -inf of none.
        total: [M], sum of weights, relative to `top`.
        WIDEN: see `dot`.

    Returns:
        acc, top and total with the keys.
    """
    highest = tl.maximum(top, tl.max(scores, 1) * scale)
    base = tl.where(highest == NONE, 0.0, highest)  # no key yet: -inf - -inf would be NaN
    weights = tl.exp2(scores * scale - base[:, None])
    kept = tl.exp2(top - base)
    total = total * kept + tl.sum(weights, 1)
    acc = dot(weights.to(v.dtype), v, acc * kept[:, None], WIDEN)
    return acc, highest, total


@triton.jit
def normalise(acc, top, total, seen):
    """Out [M, D] and lse [M] of a running softmax; (0, -inf) of no key and of rows not `seen`."""
    total = tl.where(total == 0, 1.0, total)  # top is -inf then
    out = acc / total[:, None]
    lse = (top + tl.log2(total)) * LN_2
    return tl.where(seen[:, None], out, 0.0), tl.where(seen, lse, NONE)
