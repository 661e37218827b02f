"""Rows of a table by index."""

from __future__ import annotations

import numpy as np

from xgr.backends.cpu_ref.arrays import Array
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Bind to a problem."""
    return _launch


def _launch(*, ids: Array, table: Array, out: Array, map: Array | None = None) -> None:
    unknown = np.zeros(ids.shape, np.bool_)
    if map is not None:
        unknown |= (ids < 0) | (ids >= map.shape[0])
        ids = map.take(ids, mode="clip")
    unknown |= (ids < 0) | (ids >= table.shape[0])
    table.take(ids, axis=0, out=out, mode="clip")
    if unknown.any():
        out[unknown] = 0
