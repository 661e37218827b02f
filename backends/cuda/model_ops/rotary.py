# Triton's language has no types:
# mypy: disable-error-code="no-untyped-def,untyped-decorator"
"""The norm, rotation and K/V write of some heads of one token, on the device.

A program holds 512 pairs (low, high) of elements, four a thread: then the model's 16 bits and the
table's 32 lie in the same threads, and nothing passes through shared memory.
"""

from __future__ import annotations

import triton
import triton.language as tl

PAIRS, WARPS = 512, 4


def blocks(heads: int, groups: int, size: int) -> tuple[tuple[int, int], int]:
    """(heads, pairs of a head) that a program holds, and how many programs a token needs."""
    every, pairs = heads + 2 * groups, triton.next_power_of_2(size // 2)
    some = min(max(PAIRS // pairs, 1), triton.next_power_of_2(every))
    return (some, pairs), triton.cdiv(every, some)


@triton.jit
def load_heads(
    qkv, part,
    H: tl.constexpr, G: tl.constexpr, D: tl.constexpr,
    BLOCK_H: tl.constexpr, BLOCK_F: tl.constexpr,
):  # fmt: skip
    """Both halves of heads part * BLOCK_H and on of a token; `qkv` is the token's own row."""
    head = part * BLOCK_H + tl.arange(0, BLOCK_H)
    pair = tl.arange(0, BLOCK_F)
    mask = (head < H + 2 * G)[:, None] & (pair < D // 2)[None, :]
    at = qkv + head[:, None] * D + pair[None, :]
    return tl.load(at, mask=mask, other=0), tl.load(at + D // 2, mask=mask, other=0)


@triton.jit
def rotate_heads(
    low_raw, high_raw, cos, sin, q_norm, k_norm, out, k, v, out_head, k_head, v_head, alive, eps,
    part,
    H: tl.constexpr, G: tl.constexpr, D: tl.constexpr, NORM_Q: tl.constexpr, NORM_K: tl.constexpr,
    BLOCK_H: tl.constexpr, BLOCK_F: tl.constexpr,
):  # fmt: skip
    """Finish what `load_heads` began; the pointers but for the norms are to the token's own rows.

    A token that is not alive has zeros in `out` and writes neither k nor v; its heads may be NaN.
    """
    F: tl.constexpr = D // 2
    head = part * BLOCK_H + tl.arange(0, BLOCK_H)[:, None]
    pair = tl.arange(0, BLOCK_F)[None, :]
    inside = pair < F
    is_q, is_k = inside & (head < H), inside & (head >= H) & (head < H + G)
    is_v = inside & (head >= H + G) & (head < H + 2 * G)

    low, high = low_raw.to(tl.float32), high_raw.to(tl.float32)
    if NORM_Q or NORM_K:
        mean = tl.sum(low * low + high * high, axis=1) / D
        scale = tl.rsqrt(mean + eps)[:, None]
        if NORM_Q:
            low = tl.where(is_q, low * (scale * _weights(q_norm, pair, is_q)), low)
            high = tl.where(is_q, high * (scale * _weights(q_norm + F, pair, is_q)), high)
        if NORM_K:
            low = tl.where(is_k, low * (scale * _weights(k_norm, pair, is_k)), low)
            high = tl.where(is_k, high * (scale * _weights(k_norm + F, pair, is_k)), high)
    turns = (is_q | is_k) & alive
    c, s = _weights(cos, pair, turns), _weights(sin, pair, turns)
    turned_low = tl.where(alive, low * c - high * s, 0.0).to(out.dtype.element_ty)
    turned_high = tl.where(alive, high * c + low * s, 0.0).to(out.dtype.element_ty)

    place = out + head * out_head + pair
    tl.store(place, turned_low, mask=is_q)
    tl.store(place + F, turned_high, mask=is_q)
    place = k + (head - H) * k_head + pair
    tl.store(place, turned_low, mask=is_k & alive)
    tl.store(place + F, turned_high, mask=is_k & alive)
    place = v + (head - H - G) * v_head + pair
    tl.store(place, low_raw, mask=is_v & alive)
    tl.store(place + F, high_raw, mask=is_v & alive)


@triton.jit
def _weights(row, pair, chosen):
    """Half a row for each chosen head, float32 [heads, pairs]: read once a head, from the cache."""
    return tl.load(tl.broadcast_to(row + pair, chosen.shape), mask=chosen, other=0).to(tl.float32)
