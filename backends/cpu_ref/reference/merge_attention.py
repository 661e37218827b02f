"""Definition of merge_attention."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xgr.backends.cpu_ref.arrays import Array
from xgr.backends.cpu_ref.reference.softmax import weighted
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare."""
    return merge_attention


def merge_attention(
    *, outs: Sequence[Array], lses: Sequence[Array], out: Array, lse: Array
) -> None:
    """A part counts as one key whose score is the part's log-sum-exp; empty parts are no keys."""
    out64 = np.stack([part.astype(np.float64) for part in outs])  # [n, R, H, d]
    lse64 = np.stack([part.astype(np.float64) for part in lses])  # [n, R, H]
    for r, h in np.ndindex(*lse.shape):
        full = lse64[:, r, h] != -np.inf  # [n]
        out[r, h], lse[r, h] = weighted(lse64[full, r, h], out64[full, r, h])
