"""Attention of the queries of one request, as shared and prefill attention use it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from xgr.backends.cpu_ref.arrays import Array, Floats
from xgr.backends.cpu_ref.fast.softmax import exponentials
from xgr.backends.cpu_ref.scratch import scaled, scratch
from xgr.ops.spec import Problem

# Queries at a time: enough rows for BLAS, few enough that the scores stay in the cache and a
# causal block wastes little on the keys after it (measured for prompts of 200 to 3000 tokens).
BLOCK = 64


def space(problem: Problem, cores: int, arch: int) -> Sequence[Mapping[str, int]]:
    """Blocks worth measuring."""
    return [{"block": block} for block in (16, 32, 64, 128, 256)]


def attend(
    q: Array,
    k: Array,
    v: Array,
    scale: float,
    out: Array,
    lse: Array | None = None,
    causal: bool = False,
    bias: Floats | None = None,
    block: int = BLOCK,
) -> None:
    """Queries q [n, H, d] over keys and values k, v [L, G, d], which must not be empty.

    The query heads of a group become rows of one product a group: [G, n * H / G, d] x [G, d, L].

    Args:
        q: queries; causal ones are the last n of the L tokens.
        k: keys.
        v: values.
        scale: factor of the scores.
        out: [n, H, d].
        lse: [n, H], or None where nobody asks.
        causal: a query sees keys up to its own position.
        bias: [H, 2 L - 1] added to the score of a key that stands j - (L - 1) after its query.
        block: queries at a time.
    """
    (count, heads, size), (length, groups) = q.shape, k.shape[:2]
    share = heads // groups
    keys = scratch.float32("k", k).transpose(1, 2, 0)  # [G, d, L]
    values = scratch.float32("v", v).transpose(1, 0, 2)  # [G, L, d]
    for lo in range(0, count, block):
        part = slice(lo, min(lo + block, count))
        n, first = part.stop - lo, length - count + lo
        seen = first + n if causal else length
        queries = scratch("queries", (groups, n, share, size))
        scaled(q[part].reshape(n, groups, share, size), scale, queries.transpose(1, 0, 2, 3))
        folded = queries.reshape(groups, n * share, size)
        scores = scratch("scores", (groups, n * share, seen))
        np.matmul(folded, keys[:, :, :seen], out=scores)
        unfolded = scores.reshape(groups, n, share, seen)
        if bias is not None:
            unfolded += _relative(bias, first, n, seen).reshape(
                groups, share, n, seen
            ).transpose(0, 2, 1, 3)  # fmt: skip
        shift, total = exponentials(scores, unfolded[..., first:] if causal else None)
        np.matmul(scores, values[:, :seen], out=folded)  # the queries have served
        rows = (groups, n, share, 1)
        inverse = np.reciprocal(total).reshape(rows).transpose(1, 0, 2, 3)
        scaled(queries.transpose(1, 0, 2, 3), inverse, out[part].reshape(n, groups, share, size))
        if lse is not None:
            shift += np.log(total, out=total)
            lse[part].reshape(n, groups, share)[...] = shift.reshape(rows[:3]).transpose(1, 0, 2)


def _relative(bias: Floats, first: int, queries: int, keys: int) -> Floats:
    """View [H, queries, keys] of a bias by distance, the queries from position `first` on."""
    heads, width = bias.shape
    item = bias.strides[1]
    # query i and key j meet at column (width - 1) / 2 + j - (first + i)
    return np.lib.stride_tricks.as_strided(
        bias[:, (width - 1) // 2 - first :], (heads, queries, keys), (bias.strides[0], -item, item)
    )
