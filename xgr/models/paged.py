"""Rows whose K/V is paged: the baseline that separated K/V is measured against."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from xgr.ops.array import Array


@dataclass(frozen=True, slots=True)
class PagedRows:
    """The row layout and the pool of a decode forward; `where` is the table, int32 [R, MB].

    Attributes:
        count: R.
        row_start: int32 [B + 1].
        prompt_len: int32 [B].
        keys, values: [L, NP, BT, G, d].
    """

    count: int
    row_start: Array
    prompt_len: Array
    keys: Array
    values: Array
    ops: ClassVar[tuple[str, str]] = ("rope_paged", "paged_attention")

    def write(self, index: int, where: Array | None) -> dict[str, Any]:
        """To the block that a beam's table names."""
        return {"k": self.keys[index], "v": self.values[index], "block_table": where}

    def read(self, index: int, where: Array | None) -> dict[str, Any]:
        """Every block that a beam's table names."""
        return self.write(index, where)
