"""Prefill: q/k norm, rotation and the K/V write in blocks of tokens."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from xgr.backends.cpu_ref.arrays import Array
from xgr.backends.cpu_ref.fast.rotary import BLOCK, Rotary, heads_of
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare."""
    return _launch


@np.errstate(all="ignore")  # a NaN is the caller's, and flows
def _launch(
    *,
    qkv: Array,
    cos: Array,
    sin: Array,
    q_start: Array,
    prompt_start: Array,
    prompt_len: Array,
    k: Array,
    v: Array,
    out: Array,
    eps: float,
    q_norm: Array | None = None,
    k_norm: Array | None = None,
    hidden: Array | None = None,
) -> None:
    (count, heads, size), groups = out.shape, k.shape[1]
    packed = heads_of(qkv.reshape(count, heads + 2 * groups, size), hidden, eps)
    rotary = Rotary((heads, groups), (q_norm, k_norm), eps)
    bounds = q_start.tolist()
    prompts = zip(prompt_start.tolist(), prompt_len.tolist(), strict=True)
    for (first, end), (start, length) in zip(pairwise(bounds), prompts, strict=True):
        for lo in range(first, end, BLOCK):
            part = slice(lo, min(lo + BLOCK, end))
            position = slice(length - end + lo, length - end + part.stop)
            target = slice(start + position.start, start + position.stop)
            turned = rotary(packed[part], *rotary.coefficients(cos[position], sin[position]))
            out[part], k[target] = turned[:, :heads], turned[:, heads:]
            v[target] = packed[part, heads + groups :]
    out[bounds[-1] :] = 0
