"""Prefill attention in blocks of queries, so that causal blocks skip the keys after them."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np

from xgr.backends.cpu_ref.buckets import relative_buckets
from xgr.backends.cpu_ref.fast.softmax import exponentials
from xgr.backends.cpu_ref.scratch import Array, Floats, Scratch, scaled
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher

# scores of a block stay in the second-level cache
BLOCK_SCORES = 1 << 17


def build(problem: Problem, context: Context) -> Launcher:
    """Bind to a problem."""
    return partial(_launch, Scratch())


@np.errstate(all="ignore")  # a NaN is the caller's, and flows
def _launch(
    scratch: Scratch,
    *,
    q: Array,
    k: Array,
    v: Array,
    q_start: Array,
    prompt_start: Array,
    prompt_len: Array,
    causal: bool,
    max_distance: int,
    scale: float,
    out: Array,
    bias: Array | None = None,
) -> None:
    bounds = q_start.tolist()
    prompts = zip(prompt_start.tolist(), prompt_len.tolist(), strict=True)
    for (lo, hi), (start, length) in zip(pairwise(bounds), prompts, strict=True):
        if lo == hi:
            continue
        keys = slice(start, start + length)
        table = None
        if bias is not None:
            relative = np.arange(1 - length, length)
            bucket = relative_buckets(relative, bias.shape[0], max_distance, not causal)
            table = np.ascontiguousarray(bias[bucket].T)
        _request(scratch, q[lo:hi], k[keys], v[keys], causal, table, scale, out[lo:hi])
    out[bounds[-1] :] = 0


def _request(
    scratch: Scratch,
    q: Array,
    k: Array,
    v: Array,
    causal: bool,
    table: Floats | None,
    scale: float,
    out: Array,
) -> None:
    (count, heads, size), (length, groups) = q.shape, k.shape[:2]
    share = heads // groups
    queries = scratch("queries", (groups, count, share, size))
    scaled(q.reshape(count, groups, share, size), scale, queries.transpose(1, 0, 2, 3))
    k_all = scratch.float32("k", k).transpose(1, 2, 0)
    v_all = scratch.float32("v", v).transpose(1, 0, 2)
    cached = length - count
    block = min(count, max(16, BLOCK_SCORES // (heads * length)))
    for lo in range(0, count, block):
        hi = min(lo + block, count)
        seen = cached + hi if causal else length
        folded = (groups, (hi - lo) * share)
        part = queries[:, lo:hi].reshape(*folded, size)
        scores = scratch("scores", (*folded, seen))
        np.matmul(part, k_all[:, :, :seen], out=scores)
        unfolded = scores.reshape(groups, hi - lo, share, seen)
        if table is not None:
            unfolded += (
                _toeplitz(table, cached + lo, hi - lo, seen)
                .reshape(groups, share, hi - lo, seen)
                .transpose(0, 2, 1, 3)
            )
        if causal:
            own = np.arange(hi - lo)
            later = own > own[:, None]
            np.copyto(unfolded[..., cached + lo :], -np.inf, where=later[:, None])
        _, total = exponentials(scores)
        products = np.matmul(scores, v_all[:, :seen], out=scratch("products", (*folded, size)))
        inverse = np.reciprocal(total).reshape(groups, hi - lo, share, 1)
        scaled(
            products.reshape(groups, hi - lo, share, size).transpose(1, 0, 2, 3),
            inverse.transpose(1, 0, 2, 3),
            out[lo:hi].reshape(hi - lo, groups, share, size),
        )


def _toeplitz(table: Floats, first: int, queries: int, keys: int) -> Floats:
    """View [H, queries, keys] of a table over relative positions 1 - L .. L - 1."""
    heads, width = table.shape
    centre = (width - 1) // 2
    item = table.strides[1]
    # query i at position first + i meets key j at table[:, centre + j - first - i]
    return np.lib.stride_tricks.as_strided(
        table[:, centre - first :], (heads, queries, keys), (table.strides[0], -item, item)
    )
