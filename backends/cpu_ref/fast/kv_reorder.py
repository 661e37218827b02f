"""Unshared K/V follow their beams: load all rows that move, then store all."""

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
    k: Array,
    v: Array,
    parent: Array,
    row_start: Array,
    live: Array,
    status: Array,
    step: int,
) -> None:
    rows = np.arange(parent.size)
    source = rows.copy()
    for sound in sound_requests(parent, row_start, live, status):
        source[sound] = parent[sound]
    target = np.flatnonzero(source != rows)
    source = source[target]
    for layer in range(k.shape[0]):
        k[layer, target, :step] = k[layer, source, :step]
        v[layer, target, :step] = v[layer, source, :step]
