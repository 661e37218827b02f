"""embed: rows of a table, through a map from codes to token ids where there is one."""

from __future__ import annotations

import torch
from torch import Tensor

from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Nothing to prepare."""
    sizes = problem.sizes
    table_rows, codes, empty = sizes["V"], sizes.get("M", 0), not sizes["N"]

    def embed(*, ids: Tensor, table: Tensor, out: Tensor, map: Tensor | None = None) -> None:
        if empty:
            return
        if map is not None:
            place, bad = _inside(ids, codes)
            ids = map.index_select(0, place).masked_fill_(bad, -1)
        place, bad = _inside(ids, table_rows)
        torch.index_select(table, 0, place, out=out)
        out.masked_fill_(bad[:, None], 0)

    return embed


def _inside(ids: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Ids as indices of `size` elements, and which of them are none, bool."""
    place = ids.clamp_min(0).clamp_max(size - 1)
    return place, ~(place == ids)
