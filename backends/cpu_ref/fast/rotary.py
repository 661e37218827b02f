"""q/k norm and rotary embedding, as rope_kv and rope_prefill share it.

With a = weight * (cos, cos) and b = swapped weight * (-sin, sin), a head x becomes
(x * a + swapped x * b) / rms(x), where swapping exchanges the halves. NumPy pays per inner loop:
a and b are laid out for all heads of a row, so that an inner loop is a row and not a head.
"""

from __future__ import annotations

import numpy as np

from xgr.backends.cpu_ref.arrays import Array, Floats
from xgr.backends.cpu_ref.fast.rms_norm import inverse_rms
from xgr.backends.cpu_ref.scratch import scratch

# rows at a time: everything that they touch stays in the second-level cache
BLOCK = 128


class Rotary:
    """The rotation of heads by position.

    Args:
        heads: H query heads and G key heads.
        norms: weights [d] of the query and the key norm, None where there is none.
        eps: of the norms.
    """

    def __init__(
        self,
        heads: tuple[int, int],
        norms: tuple[Array | None, Array | None],
        eps: float,
    ) -> None:
        kept, turned = heads[0], sum(heads)
        self._eps, self._turned = eps, turned
        self._parts = [
            (part, None if weight is None else weight.astype(np.float32))
            for part, weight in zip((slice(kept), slice(kept, turned)), norms, strict=True)
        ]

    def coefficients(self, cos: Floats, sin: Floats) -> tuple[Floats, Floats]:
        """The a and b [n, H + G, d] of n positions, whose cos and sin are [n, d / 2]."""
        count, half = cos.shape
        shape = (count, self._turned, 2 * half)
        a, b = scratch("a", shape), scratch("b", shape)
        direct, crossed = np.concatenate([cos, cos], axis=1), np.concatenate([-sin, sin], axis=1)
        # a head's coefficients are copied as one opaque element
        head = np.dtype((np.void, direct.itemsize * 2 * half))
        for part, weight in self._parts:
            one, other = direct, crossed
            if weight is not None:
                one = direct * weight
                other = crossed * np.concatenate([weight[half:], weight[:half]])
            a[:, part].view(head)[...] = one.view(head)[:, None]
            b[:, part].view(head)[...] = other.view(head)[:, None]
        return a, b

    def __call__(self, qkv: Array, a: Floats, b: Floats) -> Floats:
        """Query and key heads of qkv [n, H + 2 G, d] turned: float32 [n, H + G, d], a workspace.

        a and b are those of the rows' positions, or of the one that all share.
        """
        x = scratch.float32("x", qkv[:, : self._turned])
        swapped, result = scratch("swapped", x.shape), scratch("turned", x.shape)
        half = np.dtype((np.void, x.itemsize * (x.shape[2] // 2)))
        source, target = x.view(half), swapped.view(half)
        target[..., 0], target[..., 1] = source[..., 1], source[..., 0]
        np.multiply(x, a, out=result)
        swapped *= b
        result += swapped
        if any(weight is not None for _, weight in self._parts):
            result *= self._inverse_rms(x)[..., None]
        return result

    def _inverse_rms(self, x: Floats) -> Floats:
        """[n, H + G]; 1 where there is no norm."""
        inverse = inverse_rms(x, self._eps)
        for part, weight in self._parts:
            if weight is None:
                inverse[:, part] = 1
        return inverse


def heads_of(packed: Array, hidden: Array | None, eps: float) -> Array:
    """Heads [n, H + 2 G, d] as they are, or a workspace of them over the RMS of `hidden` [n, h]."""
    if hidden is None:
        return packed
    scale = inverse_rms(scratch.float32("hidden", hidden), eps)[:, None, None]
    normed = scratch("normed", packed.shape)
    np.multiply(scratch.float32("packed", packed), scale, out=normed)
    return normed
