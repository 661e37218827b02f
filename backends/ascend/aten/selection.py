"""The best candidates of each request by stable sorts, with ties as the contract has them.

A stable sort of all candidates by score, then one by request, leaves each request's candidates in
one run that begins where its rows begin. Candidates come in (row, column) order, so that equal
scores keep it.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from xgr.backends.ascend.aten.rows import Rows
from xgr.ops.beam_step import LEAST
from xgr.registry.kernel import Context


@dataclass(frozen=True, slots=True)
class Survivors:
    """Output rows.

    Attributes:
        alive: bool [RO], a candidate survived there.
        row, column: int64 [RO], which; any row and column where none did.
        score: float32 [RO], -inf where none did.
        first: int32 [RO], the first input row of the request, 0 for nobody's.
        live: int32 [B], survivors of each request.
    """

    alive: Tensor
    row: Tensor
    column: Tensor
    score: Tensor
    first: Tensor
    live: Tensor


class Selection:
    """Selects for R rows of C candidates into RO rows.

    Args:
        context: of the bind.
        rows: the input rows.
        columns: C.
        targets: RO.
        ranked: emit by rank, else by (row, column).
    """

    def __init__(
        self, context: Context, rows: Rows, columns: int, targets: int, ranked: bool
    ) -> None:
        self._rows, self._columns, self._ranked = rows, columns, ranked
        self._targets = Rows(context, targets, rows.request.shape[0])
        # more of one row never survive
        self._kept = min(columns, targets)

    def choose(
        self,
        total: Tensor,
        failed: Tensor,
        owner: Tensor,
        row_start: Tensor,
        row_start_out: Tensor,
        out_width: Tensor,
    ) -> Survivors:
        """Survivors of scores [R, C], -inf where there is no candidate and none NaN.

        Args:
            total: float32 [R, C], the scores.
            failed: bool [B], requests of which nothing survives.
            owner: int32 [R], the request of each row.
            row_start: int32 [B + 1].
            row_start_out: int32 [B + 1].
            out_width: int32 [B], most survivors.
        """
        value, column = total + 0.0, None  # -0 becomes +0: they are equal scores
        if self._kept < self._columns:
            value, column = torch.sort(value, dim=1, descending=True, stable=True)
            value, column = value[:, : self._kept], column[:, : self._kept].reshape(-1)
        width = self._width(value, failed, owner, row_start_out, out_width)
        value = value.reshape(-1)
        ranked = self._by_request(value, owner)

        target_owner = self._targets.owner(row_start_out)
        place = self._targets.number - row_start_out.index_select(0, target_owner)
        here = self._targets.within(target_owner)
        nobody = target_owner >= width.shape[0]
        alive = (place < width.index_select(0, here)) & ~nobody
        first = row_start.index_select(0, target_owner)
        at = (first * self._kept + place).masked_fill_(~alive, 0)
        chosen = ranked.index_select(0, at)

        row = torch.floor_divide(chosen, self._kept)
        found = chosen - row * self._kept if column is None else column.index_select(0, chosen)
        score = value.index_select(0, chosen)
        if not self._ranked:
            end = row_start.index_select(0, here + 1).masked_fill_(
                nobody, self._rows.number.shape[0]
            )
            order = self._by_path(row, found, alive, end)
            row, found, score = (each.index_select(0, order) for each in (row, found, score))
        return Survivors(
            alive,
            row,
            found,
            score.masked_fill_(~alive, -torch.inf),
            first.masked_fill_(nobody, 0),
            width,
        )

    def _width(
        self,
        value: Tensor,
        failed: Tensor,
        owner: Tensor,
        row_start_out: Tensor,
        out_width: Tensor,
    ) -> Tensor:
        """Survivors of each request, int32 [B]: as wanted, as there is room, as there are."""
        candidates = (value > -torch.inf).sum(1, dtype=torch.int32)
        mine = self._rows.of_request(owner).to(torch.int32) * candidates
        room = row_start_out[1:] - row_start_out[:-1]
        width = torch.minimum(torch.minimum(out_width, room), mine.sum(1, dtype=torch.int32))
        return width.clamp_min(0).masked_fill_(failed, 0)

    def _by_request(self, value: Tensor, owner: Tensor) -> Tensor:
        """Numbers of the candidates by request, then by rank, int64 [R * kept]."""
        rank = torch.sort(value, descending=True, stable=True).indices
        if self._rows.request.shape[0] == 1:
            return rank  # rows of nobody have no candidates, and so come last
        whose = owner[:, None].expand(-1, self._kept).reshape(-1).to(torch.float32)
        order = torch.sort(whose.index_select(0, rank), stable=True).indices
        return rank.index_select(0, order)

    def _by_path(self, row: Tensor, column: Tensor, alive: Tensor, end: Tensor) -> Tensor:
        """Order of the output rows by (row, column), those without a survivor behind their own."""
        pitch = self._columns + 1
        key = torch.where(alive, row * pitch + column, end.to(torch.int64) * pitch - 1)
        return torch.sort(key, stable=True).indices


def clamped(total: Tensor, legal: Tensor) -> Tensor:
    """Scores [R, C], at least the least one where legal, -inf elsewhere."""
    return total.clamp_min(LEAST).masked_fill_(~legal, -torch.inf)


def not_numbers(total: Tensor, legal: Tensor) -> Tensor:
    """Rows [R] with a legal score that is NaN or +inf."""
    return (legal & ~(total < torch.inf)).any(1)
