# Triton's language has no types:
# mypy: disable-error-code="no-untyped-def,untyped-decorator"
"""The norm, rotation and K/V write of some heads of one token, on the device."""

from __future__ import annotations

import triton
import triton.language as tl


def blocks(heads: int, groups: int, size: int) -> tuple[tuple[int, int], int]:
    """(heads, pairs of a head) that a program holds, and how many programs a token needs."""
    every, pairs = heads + 2 * groups, triton.next_power_of_2(size // 2)
    some = min(max(512 // pairs, 1), triton.next_power_of_2(every))
    return (some, pairs), triton.cdiv(every, some)


@triton.jit
def rotate_heads(
    qkv, cos, sin, q_norm, k_norm, out, k, v, out_head, k_head, v_head, alive, eps, part,
    H: tl.constexpr, G: tl.constexpr, D: tl.constexpr, NORM_Q: tl.constexpr, NORM_K: tl.constexpr,
    BLOCK_H: tl.constexpr, BLOCK_F: tl.constexpr,
):  # fmt: skip
    """Heads part * BLOCK_H and on of a token; pointers are to the token's own rows.

    A token that is not alive has zeros in `out` and writes neither k nor v.
    """
    F: tl.constexpr = D // 2
    head = part * BLOCK_H + tl.arange(0, BLOCK_H)
    pair = tl.arange(0, BLOCK_F)
    is_q, is_k = head < H, (head >= H) & (head < H + G)
    is_v = (head >= H + G) & (head < H + 2 * G)
    inside = (pair < F)[None, :]
    mask = inside & (head < H + 2 * G)[:, None] & alive

    at = head[:, None] * D + pair[None, :]
    low_raw = tl.load(qkv + at, mask=mask, other=0)
    high_raw = tl.load(qkv + at + F, mask=mask, other=0)
    low, high = low_raw.to(tl.float32), high_raw.to(tl.float32)
    if NORM_Q or NORM_K:
        mean = (tl.sum(low * low, axis=1) + tl.sum(high * high, axis=1)) / D
        scale = tl.rsqrt(mean + eps)[:, None]
        if NORM_Q:
            gain = _gain(q_norm, pair, is_q, scale, F)
            low, high = low * gain, high * _gain(q_norm + F, pair, is_q, scale, F)
        if NORM_K:
            gain = _gain(k_norm, pair, is_k, scale, F)
            low, high = low * gain, high * _gain(k_norm + F, pair, is_k, scale, F)
    c = tl.load(cos + pair, mask=(pair < F) & alive, other=0)[None, :]
    s = tl.load(sin + pair, mask=(pair < F) & alive, other=0)[None, :]
    turned_low, turned_high = low * c - high * s, high * c + low * s

    kind = out.dtype.element_ty
    place, to_q = out + head[:, None] * out_head + pair[None, :], is_q[:, None] & inside
    tl.store(place, turned_low.to(kind), mask=to_q)
    tl.store(place + F, turned_high.to(kind), mask=to_q)
    place = k + (head - H)[:, None] * k_head + pair[None, :]
    to_k = is_k[:, None] & mask
    tl.store(place, turned_low.to(kind), mask=to_k)
    tl.store(place + F, turned_high.to(kind), mask=to_k)
    place = v + (head - H - G)[:, None] * v_head + pair[None, :]
    to_v = is_v[:, None] & mask
    tl.store(place, low_raw, mask=to_v)
    tl.store(place + F, high_raw, mask=to_v)


@triton.jit
def _gain(norm, pair, chosen, scale, F: tl.constexpr):
    """Factor [heads, pairs] of half a head: scale * weight for the chosen heads, 1 for others."""
    weight = tl.load(norm + pair, mask=pair < F, other=0).to(tl.float32)
    return tl.where(chosen[:, None], scale * weight[None, :], 1.0)
