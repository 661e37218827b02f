"""Prefill attention, request by request; causal blocks skip the keys after them."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np

from xgr.backends.cpu_ref.arrays import Array, Floats
from xgr.backends.cpu_ref.buckets import relative_buckets
from xgr.backends.cpu_ref.fast.attend import BLOCK, attend
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare."""
    return partial(_launch, block=context.config.get("block", BLOCK))


@np.errstate(all="ignore")  # a NaN is the caller's, and flows
def _launch(
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
    block: int = BLOCK,
) -> None:
    bounds = q_start.tolist()
    prompts = zip(prompt_start.tolist(), prompt_len.tolist(), strict=True)
    for (lo, hi), (start, length) in zip(pairwise(bounds), prompts, strict=True):
        if lo < hi:
            keys = slice(start, start + length)
            by_distance = None
            if bias is not None:
                by_distance = _by_distance(bias, length, max_distance, causal)
            attend(
                q[lo:hi], k[keys], v[keys], scale, out[lo:hi],
                causal=causal, bias=by_distance, block=block,
            )  # fmt: skip
    out[bounds[-1] :] = 0


def _by_distance(bias: Array, length: int, max_distance: int, causal: bool) -> Floats:
    """[H, 2 L - 1]: the bias of every distance that occurs in a prompt."""
    distance = np.arange(1 - length, length)
    bucket = relative_buckets(distance, bias.shape[0], max_distance, bidirectional=not causal)
    return np.ascontiguousarray(bias[bucket].T)
