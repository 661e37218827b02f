"""Log-sum-exp of a head by blocks of its rows, so that the logits never leave the cache."""

from __future__ import annotations

import numpy as np

from xgr.backends.cpu_ref.arrays import Array
from xgr.backends.cpu_ref.fast.softmax import exponentials
from xgr.backends.cpu_ref.scratch import scratch
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher

BLOCK_LOGITS = 1 << 18


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare."""
    return _launch


@np.errstate(all="ignore")  # -inf before the first block; a NaN is the caller's, and flows
def _launch(*, hidden: Array, head: Array, lse: Array) -> None:
    rows, vocab = hidden.shape[0], head.shape[0]
    if rows == 0:
        return
    x = scratch.float32("hidden", hidden)
    block = max(256, BLOCK_LOGITS // rows)
    parts = []
    for lo in range(0, vocab, block):
        weight = scratch.float32("head", head[lo : lo + block])
        logits = scratch("logits", (rows, weight.shape[0]))
        np.matmul(x, weight.T, out=logits)
        greatest, total = exponentials(logits)
        parts.append(np.log(total) + greatest)
    if len(parts) == 1:
        lse[...] = parts[0][:, 0]
    else:
        joined = np.concatenate(parts, axis=1)
        greatest, total = exponentials(joined)
        lse[...] = (np.log(total) + greatest)[:, 0]
