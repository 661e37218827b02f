"""Logits of a level over BLAS in float32."""

from __future__ import annotations

import numpy as np

from xgr.backends.cpu_ref.arrays import Array
from xgr.backends.cpu_ref.scratch import scratch
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare."""
    return _launch


@np.errstate(all="ignore")  # a NaN is the caller's, and flows
def _launch(*, hidden: Array, head: Array, logits: Array) -> None:
    weight = scratch.float32("head", head)
    np.matmul(scratch.float32("hidden", hidden), weight.T, out=logits)
