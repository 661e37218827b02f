"""Definition of block_copy."""

from __future__ import annotations

from xgr.backends.cpu_ref.arrays import Array
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare."""
    return block_copy


def block_copy(*, k: Array, v: Array, source: Array, target: Array) -> None:
    """Pools [L, NP, BT, G, d]; no block is both read and written."""
    for begin, end in zip(source, target, strict=True):
        if end >= 0:
            k[:, end], v[:, end] = k[:, begin], v[:, begin]
