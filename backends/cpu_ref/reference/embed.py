"""Definition of embed."""

from __future__ import annotations

from xgr.backends.cpu_ref.arrays import Array
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare."""
    return embed


def embed(*, ids: Array, table: Array, out: Array, map: Array | None = None) -> None:
    """Rows of the table [V, h]; zeros where an index leads nowhere."""
    out[...] = 0
    for n, index in enumerate(ids):
        if map is not None:
            index = map[index] if 0 <= index < map.size else -1  # noqa: PLW2901 - next link
        if 0 <= index < table.shape[0]:
            out[n] = table[index]
