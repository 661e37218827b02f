"""The unshared stage: a row over its own slots, all its heads at a time, on vector cores."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
# Triton compiles `unshared_kernel` from its source; its arguments are no Python values

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

from xgr.backends.ascend.triton.grid import vector_cores
from xgr.backends.ascend.triton.selection import power_of_two
from xgr.backends.ascend.triton.strides import dense
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher

# float32 elements of the query vectors that a step takes
TILE = 2048


def build(problem: Problem, context: Context) -> Launcher:
    """Choose how many kv heads, with the query heads that share them, a step takes."""
    a = problem.sizes
    rows, heads, groups, size, requests = a["R"], a["H"], a["G"], a["d"], a["B"]
    shared = heads // groups
    block_h = power_of_two(shared)
    block_d = power_of_two(size)
    block_g = min(power_of_two(groups), max(1, TILE // (block_h * block_d)))
    grid = (vector_cores(),)

    def unshared_attention(
        *,
        q: Any,
        k: Any,
        v: Any,
        row_start: Any,
        live: Any,
        step: int,
        scale: float,
        out: Any,
        lse: Any,
        ancestors: Any = None,
        bias: Any = None,
    ) -> None:
        """Attend to the valid slots; dead rows, and all rows at step 0, get (0, -inf)."""
        unshared_kernel[grid](
            q, k, v, row_start, live, ancestors, bias, out, lse,
            rows, requests, step, scale,
            *dense("q", q), *dense("k", k), *dense("v", v), *dense("out", out),
            *dense("lse", lse),
            0 if ancestors is None else dense("ancestors", ancestors)[0],
            0 if bias is None else dense("bias", bias)[0],
            GROUPS=groups, SHARED=shared, SIZE=size,
            BLOCK_G=block_g, BLOCK_H=block_h, BLOCK_D=block_d,
        )  # fmt: skip

    return unshared_attention


@triton.jit(
    do_not_specialize=[
        "rows", "requests", "step", "scale", "q_row", "q_head", "k_row", "k_slot", "k_head",
        "v_row", "v_slot", "v_head", "out_row", "out_head", "lse_row", "ancestors_row", "bias_row",
    ]
)  # fmt: skip
def unshared_kernel(
    q, k, v, row_start, live, ancestors, bias, out, lse, rows, requests, step, scale,
    q_row, q_head, k_row, k_slot, k_head, v_row, v_slot, v_head, out_row, out_head, lse_row,
    ancestors_row, bias_row,
    GROUPS: tl.constexpr, SHARED: tl.constexpr, SIZE: tl.constexpr,
    BLOCK_G: tl.constexpr, BLOCK_H: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    """Rows, BLOCK_G kv heads at a time, dealt to the programs in turn.

    What it takes:
        q, out: [rows, GROUPS * SHARED, SIZE]; lse float32 [rows, GROUPS * SHARED].
        k, v: [rows, slots, GROUPS, SIZE]. Strides of all axes but the last follow.
        row_start, live, ancestors, bias, step: as `xgr.ops.unshared_attention` declares them.
        BLOCK_H: power of two from SHARED on.
    """
    turns: tl.constexpr = (GROUPS + BLOCK_G - 1) // BLOCK_G
    at_group = tl.arange(0, BLOCK_G)
    at_head = tl.arange(0, BLOCK_H)
    at = tl.arange(0, BLOCK_D)
    for b in range(0, requests + 1):
        # rows of nobody are those of one more request, none of them live
        request = tl.minimum(b, requests - 1)
        mine = b < requests
        first = tl.load(row_start + b)
        end = tl.where(mine, tl.load(row_start + tl.minimum(b + 1, requests)), rows)
        count = tl.where(mine, tl.load(live + request), 0)
        base = first * turns
        turn = (tl.program_id(0) + tl.num_programs(0) - base % tl.num_programs(0)) % (
            tl.num_programs(0)
        )
        for tile in range(turn, (end - first) * turns, tl.num_programs(0)):
            row = (first + tile // turns).to(tl.int64)
            group = tile % turns * BLOCK_G
            head = group * SHARED
            left = GROUPS - group
            slots = tl.where(tile // turns < count, step, 0)
            read = tl.where(slots > 0, left, 0)  # a dead row's query is not read
            inside = (
                (at_group[:, None, None] < left)
                & (at_head[None, :, None] < SHARED)
                & (at[None, None, :] < SIZE)
            )
            place = (
                (at_group[:, None, None] * SHARED + at_head[None, :, None]) * q_head
                + at[None, None, :]
            )  # fmt: skip
            top = tl.full((BLOCK_G, BLOCK_H), -1e30, tl.float32)
            total = tl.zeros((BLOCK_G, BLOCK_H), tl.float32)
            acc = tl.zeros((BLOCK_G, BLOCK_H, BLOCK_D), tl.float32)
            query = tl.load(
                q + row * q_row + head * q_head.to(tl.int64) + place,
                mask=inside & (at_group[:, None, None] < read),
                other=0.0,
            ).to(tl.float32)
            for slot in range(0, slots):
                holder = row
                if ancestors is not None:
                    holder = tl.load(ancestors + row * ancestors_row + slot).to(tl.int64)
                owned = (at_group[:, None] < left) & (at[None, :] < SIZE)
                key = tl.load(
                    k + holder * k_row + slot * k_slot.to(tl.int64)
                    + group * k_head.to(tl.int64)
                    + at_group[:, None] * k_head + at[None, :],
                    mask=owned, other=0.0,
                ).to(tl.float32)  # fmt: skip
                score = tl.sum(query * key[:, None, :], axis=2) * scale
                if bias is not None:
                    told = (at_group[:, None] < left) & (at_head[None, :] < SHARED)
                    score += tl.load(
                        bias + head * bias_row.to(tl.int64) + slot
                        + (at_group[:, None] * SHARED + at_head[None, :]) * bias_row,
                        mask=told, other=0.0,
                    )  # fmt: skip
                value = tl.load(
                    v + holder * v_row + slot * v_slot.to(tl.int64)
                    + group * v_head.to(tl.int64)
                    + at_group[:, None] * v_head + at[None, :],
                    mask=owned, other=0.0,
                ).to(tl.float32)  # fmt: skip
                higher = tl.maximum(top, score)
                weight = tl.exp(score - higher)
                faded = tl.exp(top - higher)
                total = total * faded + weight
                acc = acc * faded[:, :, None] + weight[:, :, None] * value[:, None, :]
                top = higher
            divisor = tl.where(total == 0.0, 1.0, total)
            stats = tl.where(total == 0.0, float("-inf"), top + tl.log(divisor))
            place = (
                (at_group[:, None, None] * SHARED + at_head[None, :, None]) * out_head
                + at[None, None, :]
            )  # fmt: skip
            vectors = acc / divisor[:, :, None]
            tl.store(
                out + row * out_row + head * out_head.to(tl.int64) + place,
                vectors.to(out.dtype.element_ty), mask=inside,
            )  # fmt: skip
            written = (at_group[:, None] < left) & (at_head[None, :] < SHARED)
            tl.store(
                lse + row * lse_row + head + at_group[:, None] * SHARED + at_head[None, :],
                stats, mask=written,
            )  # fmt: skip
