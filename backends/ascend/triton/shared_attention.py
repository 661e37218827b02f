"""The shared stage: beams of a request over its prompt, their heads folded into the query axis."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
# Triton compiles `shared_kernel` from its source; its arguments are no Python values

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

from xgr.backends.ascend.triton.grid import cube_cores, interpreting
from xgr.backends.ascend.triton.selection import power_of_two
from xgr.backends.ascend.triton.strides import dense
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher

# query vectors and keys of a tile where a vector has fewer bytes than WIDE: what the products and
# their float32 sums take fits L1, L0 and, twice buffered, the unified buffer
QUERIES, KEYS, WIDE = 32, 64, 512


def build(problem: Problem, context: Context) -> Launcher:
    """Choose the tile: rows of a request times the heads that share a kv head, padded."""
    a = problem.sizes
    rows, heads, groups, size, requests = a["R"], a["H"], a["G"], a["d"], a["B"]
    shared = heads // groups
    block_h = power_of_two(shared)
    block_d = power_of_two(max(16, size))
    wide = block_d * (4 if problem.dtype == "float32" else 2)
    block_r = max(1, QUERIES * WIDE // max(wide, WIDE) // block_h)
    block_n = KEYS if wide < WIDE else KEYS // 2
    grid = (cube_cores(),)
    widen = interpreting() and problem.dtype == "bfloat16"

    def shared_attention(
        *,
        q: Any,
        k: Any,
        v: Any,
        prompt_start: Any,
        prompt_len: Any,
        row_start: Any,
        live: Any,
        scale: float,
        out: Any,
        lse: Any,
    ) -> None:
        """Attend to the prompts; dead rows and empty prompts get (0, -inf)."""
        shared_kernel[grid](
            q, k, v, prompt_start, prompt_len, row_start, live, out, lse,
            rows, requests, scale,
            *dense("q", q), *dense("k", k), *dense("v", v), *dense("out", out),
            *dense("lse", lse),
            GROUPS=groups, SHARED=shared, SIZE=size, WIDEN=widen,
            BLOCK_R=block_r, BLOCK_H=block_h, BLOCK_N=block_n, BLOCK_D=block_d,
        )  # fmt: skip

    return shared_attention


@triton.jit(
    do_not_specialize=[
        "rows", "requests", "scale", "q_row", "q_head", "k_token", "k_head", "v_token", "v_head",
        "out_row", "out_head", "lse_row",
    ]
)  # fmt: skip
def shared_kernel(
    q, k, v, prompt_start, prompt_len, row_start, live, out, lse, rows, requests, scale,
    q_row, q_head, k_token, k_head, v_token, v_head, out_row, out_head, lse_row,
    GROUPS: tl.constexpr, SHARED: tl.constexpr, SIZE: tl.constexpr, WIDEN: tl.constexpr,
    BLOCK_R: tl.constexpr, BLOCK_H: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    """Tiles of BLOCK_R rows by the SHARED heads of a kv head, dealt to the programs in turn.

    What it takes:
        q, out: [rows, GROUPS * SHARED, SIZE]; lse float32 [rows, GROUPS * SHARED].
        k, v: [tokens, GROUPS, SIZE]. Strides of all axes but the last follow.
        prompt_start, prompt_len, row_start, live: int32 as `xgr.ops.shared_attention` declares.
        BLOCK_H: power of two from SHARED on; BLOCK_R * BLOCK_H query vectors are a tile.
        WIDEN: products in float32, for an interpreter that has none of bfloat16.
    """
    at_row = tl.arange(0, BLOCK_R)
    at_head = tl.arange(0, BLOCK_H)
    at = tl.arange(0, BLOCK_D)
    at_key = tl.arange(0, BLOCK_N)
    dealt = 0
    for b in range(0, requests + 1):
        # rows of nobody are those of one more request, which has no prompt
        request = tl.minimum(b, requests - 1)
        mine = b < requests
        first = tl.load(row_start + b)
        end = tl.where(mine, tl.load(row_start + tl.minimum(b + 1, requests)), rows)
        count = tl.where(mine, tl.load(live + request), 0)
        start = tl.load(prompt_start + request).to(tl.int64)
        length = tl.where(mine, tl.load(prompt_len + request), 0)
        tiles = tl.cdiv(end - first, BLOCK_R) * GROUPS
        # the turn goes on where the request before left it
        turn = (tl.program_id(0) + tl.num_programs(0) - dealt) % tl.num_programs(0)
        dealt = (dealt + tiles) % tl.num_programs(0)
        for tile in range(turn, tiles, tl.num_programs(0)):
            row = tile // GROUPS * BLOCK_R
            group = tile % GROUPS
            base = (first + row).to(tl.int64)
            keys = tl.where(row < count, length, 0)
            place = (
                at_row[:, None, None] * q_row + at_head[None, :, None] * q_head + at[None, None, :]
            )
            read = (
                (at_row[:, None, None] < count - row)
                & (at_head[None, :, None] < SHARED)
                & (at[None, None, :] < SIZE)
            )
            query = tl.load(
                q + base * q_row + group * SHARED * q_head.to(tl.int64) + place,
                mask=read,
                other=0.0,
            )
            query = tl.reshape(query, (BLOCK_R * BLOCK_H, BLOCK_D))
            if WIDEN:
                query = query.to(tl.float32)
            top = tl.full((BLOCK_R * BLOCK_H,), -1e30, tl.float32)
            total = tl.zeros((BLOCK_R * BLOCK_H,), tl.float32)
            acc = tl.zeros((BLOCK_R * BLOCK_H, BLOCK_D), tl.float32)
            for key in range(0, keys, BLOCK_N):
                token = start + key
                seen = (at_key[:, None] < length - key) & (at[None, :] < SIZE)
                tile_k = tl.load(
                    k + token * k_token + group * k_head.to(tl.int64)
                    + at_key[:, None] * k_token + at[None, :],
                    mask=seen, other=0.0,
                )  # fmt: skip
                tile_v = tl.load(
                    v + token * v_token + group * v_head.to(tl.int64)
                    + at_key[:, None] * v_token + at[None, :],
                    mask=seen, other=0.0,
                )  # fmt: skip
                if WIDEN:
                    tile_k = tile_k.to(tl.float32)
                    tile_v = tile_v.to(tl.float32)
                score = tl.dot(query, tl.trans(tile_k), input_precision="ieee") * scale
                score = tl.where((at_key < length - key)[None, :], score, -1e30)
                higher = tl.maximum(top, tl.max(score, axis=1))
                weight = tl.exp(score - higher[:, None])
                faded = tl.exp(top - higher)
                total = total * faded + tl.sum(weight, axis=1)
                acc = acc * faded[:, None]
                acc += tl.dot(weight.to(tile_v.dtype), tile_v, input_precision="ieee")
                top = higher
            total = tl.where(total == 0.0, 1.0, total)  # no keys
            alive = at_row < tl.where(keys > 0, count - row, 0)
            vectors = tl.reshape(acc / total[:, None], (BLOCK_R, BLOCK_H, BLOCK_D))
            vectors = tl.where(alive[:, None, None], vectors, 0.0)
            stats = tl.reshape(top + tl.log(total), (BLOCK_R, BLOCK_H))
            stats = tl.where(alive[:, None], stats, float("-inf"))
            place = (
                at_row[:, None, None] * out_row
                + at_head[None, :, None] * out_head
                + at[None, None, :]
            )
            written = (
                (at_row[:, None, None] < end - first - row)
                & (at_head[None, :, None] < SHARED)
                & (at[None, None, :] < SIZE)
            )
            tl.store(
                out + base * out_row + group * SHARED * out_head.to(tl.int64) + place,
                vectors.to(out.dtype.element_ty), mask=written,
            )  # fmt: skip
            written = (at_row[:, None] < end - first - row) & (at_head[None, :] < SHARED)
            tl.store(
                lse + base * lse_row + group * SHARED + at_row[:, None] * lse_row
                + at_head[None, :],
                stats, mask=written,
            )  # fmt: skip
