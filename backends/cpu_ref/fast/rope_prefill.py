"""Prefill: q/k norm, rotation and the K/V write, over all packed tokens at once."""

from __future__ import annotations

from functools import partial

import numpy as np

from xgr.backends.cpu_ref.fast.rotary import rotated
from xgr.backends.cpu_ref.scratch import Array, Scratch
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Bind to a problem."""
    return partial(_launch, Scratch())


@np.errstate(all="ignore")  # a NaN is the caller's, and flows
def _launch(
    scratch: Scratch,
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
) -> None:
    _, heads, size = out.shape
    groups = k.shape[1]
    bounds, ends = q_start.tolist(), prompt_len.tolist()
    tokens = bounds[-1]
    packed = qkv[:tokens].reshape(tokens, heads + 2 * groups, size)
    new = np.diff(q_start)
    position = np.arange(tokens) + np.repeat(prompt_len - q_start[1:], new)
    x = rotated(scratch, packed, cos[position], sin[position], q_norm, k_norm, (heads, groups), eps)
    out[:tokens] = x[:, :heads]
    out[tokens:] = 0
    for lo, hi, start, end in zip(
        bounds[:-1], bounds[1:], prompt_start.tolist(), ends, strict=True
    ):
        target = slice(start + end - (hi - lo), start + end)
        k[target] = x[lo:hi, heads:]
        v[target] = packed[lo:hi, heads + groups :]
