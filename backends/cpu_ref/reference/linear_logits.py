"""Definition of linear_logits."""

from __future__ import annotations

import numpy as np

from xgr.backends.cpu_ref.arrays import Array
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare."""
    return linear_logits


@np.errstate(invalid="ignore")  # a NaN is the caller's, and flows
def linear_logits(*, hidden: Array, head: Array, logits: Array) -> None:
    """Input hidden [R, h], head [K, h]."""
    logits[...] = hidden.astype(np.float64) @ head.astype(np.float64).T  # [R, K]
