"""The precondition of the ops that read a level of the catalogue."""

from __future__ import annotations

from xgr.errors import InputError
from xgr.ops.array import Trie


def check_level(trie: Trie, level: int, columns: int) -> None:
    """Refuse a level that the catalogue does not have, and codes that have no column.

    Raises:
        InputError: `level` is beyond the catalogue's depth, or its codes exceed `columns`.
    """
    depth = len(trie.levels)
    if not 0 <= level < depth:
        raise InputError(f"level {level} of a catalogue with {depth} levels (0 to {depth - 1})")
    if trie.level_sizes[level] > columns:
        raise InputError(
            f"level {level} of catalogue {trie.version} has {trie.level_sizes[level]} codes, "
            f"and the scores have {columns} columns"
        )
