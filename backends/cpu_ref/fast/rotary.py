"""q/k norm and rotary embedding of packed rows, as rope_kv and rope_prefill share it."""

from __future__ import annotations

import numpy as np

from xgr.backends.cpu_ref.scratch import Array, Floats, Scratch


def rotated(
    scratch: Scratch,
    qkv: Array,
    cos: Floats,
    sin: Floats,
    q_norm: Array | None,
    k_norm: Array | None,
    heads: tuple[int, int],
    eps: float,
) -> Floats:
    """Query and key heads of qkv [N, H + 2 G, d], normalised and rotated: float32 [N, H + G, d].

    cos and sin are those of each row's position, [N, F]; heads is (H, G).
    """
    turned, kept = sum(heads), heads[0]
    size = qkv.shape[2]
    x = scratch("rotary", (qkv.shape[0], turned, size))
    np.copyto(x, qkv[:, :turned])
    _normalise(x[:, :kept], q_norm, eps)
    _normalise(x[:, kept:], k_norm, eps)
    half = size // 2
    cosines, sines = cos[:, None], sin[:, None]
    first, second = x[..., :half], x[..., half:]
    ahead = np.multiply(first, sines, out=scratch("ahead", first.shape))
    back = np.multiply(second, sines, out=scratch("back", first.shape))
    first *= cosines
    first -= back
    second *= cosines
    second += ahead
    return x


def _normalise(x: Floats, weight: Array | None, eps: float) -> None:
    if weight is None:
        return
    mean = np.vecdot(x, x)
    mean *= 1 / x.shape[-1]
    mean += eps
    x *= np.reciprocal(np.sqrt(mean))[..., None]
    x *= weight.astype(np.float32)
