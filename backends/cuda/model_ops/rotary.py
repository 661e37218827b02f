# Triton's language has no types:
# mypy: disable-error-code="no-untyped-def,untyped-decorator"
"""The norm, rotation and K/V write of some heads of one token, on the device.

A program holds 1024 pairs (low, high) of elements, eight a thread. Long prompts are bound by the
instructions that are issued, and half of those are a thread's own, whatever it holds; very long
ones by what is read again for the norm, so that a thread takes twice as many.
"""

from __future__ import annotations

import triton
import triton.language as tl

from xgr.backends.cuda.model_ops.norm_behind import inverse_rms, reads_again
from xgr.ops.spec import Problem

PAIRS, WARPS = 1024, 4


def divide(problem: Problem) -> tuple[dict[str, int], int]:
    """What a kernel is compiled for, and how many programs a token needs."""
    a = problem.sizes
    every, pairs = a["H"] + 2 * a["G"], triton.next_power_of_2(a["d"] // 2)
    width = a["h"] if problem.flag("hidden") else 0
    most = 2 * PAIRS if width and reads_again(problem) else PAIRS
    some = min(max(most // pairs, 1), triton.next_power_of_2(every))
    constants = {"H": a["H"], "G": a["G"], "D": a["d"], "BLOCK_H": some, "BLOCK_F": pairs}
    constants |= {"NORM_Q": problem.flag("q_norm"), "NORM_K": problem.flag("k_norm")}
    constants |= {"h": width, "BLOCK_N": triton.next_power_of_2(width), "num_warps": WARPS}
    constants["BLOCK_B"] = triton.next_power_of_2(a["B"])
    return constants, triton.cdiv(every, some)


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
    low_raw, high_raw, row, cos, sin, q_norm, k_norm, out, k, v, out_head, k_head, v_head, alive,
    eps, part,
    H: tl.constexpr, G: tl.constexpr, D: tl.constexpr, h: tl.constexpr, NORM_Q: tl.constexpr,
    NORM_K: tl.constexpr, BLOCK_H: tl.constexpr, BLOCK_F: tl.constexpr,
):  # fmt: skip
    """Finish what `load_heads` began; the pointers but for the norms are to the token's own rows.

    `row` is what the norm behind the product is of, h elements, or of h = 0 None. A token that is
    not alive has zeros in `out` and writes neither k nor v; its heads may be NaN.
    """
    F: tl.constexpr = D // 2
    head = part * BLOCK_H + tl.arange(0, BLOCK_H)[:, None]
    pair = tl.arange(0, BLOCK_F)[None, :]
    inside = (pair < F) & (head < H + 2 * G)
    is_q, is_v = head < H, head >= H + G

    low, high = low_raw.to(tl.float32), high_raw.to(tl.float32)
    if h > 0:
        behind = inverse_rms(row, eps, h)
        low, high = low * behind, high * behind
        low_raw, high_raw = low.to(low_raw.dtype), high.to(high_raw.dtype)
    if NORM_Q or NORM_K:
        mean = tl.sum(low * low + high * high, axis=1) / D
        scale = tl.rsqrt(mean + eps)[:, None]
        # one load of weights a head, whichever they are, as below one store: what a head does with
        # another's weights or place would be issued too
        if NORM_Q and NORM_K:
            gain = tl.where(is_q, q_norm + pair, k_norm + pair)
            normed = inside & (head < H + G)
        elif NORM_Q:
            gain, normed = tl.broadcast_to(q_norm + pair, inside.shape), inside & is_q
        else:
            gain, normed = tl.broadcast_to(k_norm + pair, inside.shape), inside & ~is_q & ~is_v
        low = tl.where(normed, low * (scale * tl.load(gain, mask=normed, other=0)), low)
        high = tl.where(normed, high * (scale * tl.load(gain + F, mask=normed, other=0)), high)
    turns = inside & (head < H + G) & alive
    c, s = _table(cos, pair, turns), _table(sin, pair, turns)
    kind = out.dtype.element_ty
    turned_low = tl.where(alive, low * c - high * s, 0.0).to(kind)
    turned_high = tl.where(alive, high * c + low * s, 0.0).to(kind)

    own = tl.where(head < H + G, k + (head - H) * k_head, v + (head - H - G) * v_head)
    place = tl.where(is_q, out + head * out_head, own) + pair
    there = inside & (is_q | alive)
    tl.store(place, tl.where(is_v, low_raw, turned_low), mask=there)
    tl.store(place + F, tl.where(is_v, high_raw, turned_high), mask=there)


@triton.jit
def _table(row, pair, chosen):
    """Half a row for each chosen head, float32 [heads, pairs]: read once a head, from the cache."""
    return tl.load(tl.broadcast_to(row + pair, chosen.shape), mask=chosen, other=0).to(tl.float32)
