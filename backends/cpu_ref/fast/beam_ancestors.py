"""Ancestors follow their beams: a gather a request."""

from __future__ import annotations

import numpy as np

from xgr.backends.cpu_ref.arrays import Array
from xgr.backends.cpu_ref.parents import sound_requests
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Bind to a problem."""
    return _launch


def _launch(
    *,
    ancestors: Array,
    parent: Array,
    row_start: Array,
    live: Array,
    out: Array,
    status: Array,
    step: int,
) -> None:
    out[...] = np.arange(out.shape[0], dtype=np.int32)[:, None]
    for rows in sound_requests(parent, row_start, live, status):
        out[rows, :step] = ancestors[parent[rows], :step]
