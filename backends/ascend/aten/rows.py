"""Which request each row belongs to, and what holds of a request's rows, on the device."""

from __future__ import annotations

import torch
from torch import Tensor

from xgr.ops.dtype import int32
from xgr.registry.kernel import Context


def counting(context: Context, size: int) -> Tensor:
    """0, 1, .. size - 1 as int32 [size], in workspace: made at bind."""
    numbers: Tensor = context.empty((size,), int32)  # type: ignore[assignment]
    numbers.copy_(torch.arange(size, dtype=torch.int32))
    return numbers


class Rows:
    """Rows 0 .. R - 1 of B requests.

    Args:
        context: of the bind.
        rows: R.
        requests: B.
    """

    def __init__(self, context: Context, rows: int, requests: int) -> None:
        self.number = counting(context, rows)
        self.request = counting(context, requests)

    def owner(self, row_start: Tensor) -> Tensor:
        """The request of each row, int32 [R]; B for rows of nobody. Empty requests own none."""
        return torch.searchsorted(row_start[1:], self.number, right=True, out_int32=True)

    def within(self, owner: Tensor) -> Tensor:
        """`owner`, with the last request in place of nobody: a place to look up."""
        return owner.clamp_max(self.request.shape[0] - 1)

    def alive(self, owner: Tensor, row_start: Tensor, live: Tensor) -> Tensor:
        """Which rows are live, bool [R]."""
        behind = self.number - row_start.index_select(0, owner)
        mine = behind < live.index_select(0, self.within(owner))
        return mine & (owner < self.request.shape[0])

    def of_request(self, owner: Tensor) -> Tensor:
        """Which rows are each request's, bool [B, R]."""
        return self.request[:, None] == owner[None, :]

    def repeated(self, wanted: Tensor) -> tuple[Tensor, Tensor]:
        """Wanted places and, in place of others, the last wanted one: writes that change nothing.

        Args:
            wanted: bool [R].

        Returns:
            int32 [R], 0 everywhere where none is wanted; and bool [1], whether one is.
        """
        last = self.number.masked_fill(~wanted, -1).amax(0, keepdim=True)
        return torch.where(wanted, self.number, last).clamp_min(0), last >= 0

    def sound(
        self, parent: Tensor, row_start: Tensor, live: Tensor, status: Tensor, bit: int
    ) -> tuple[Tensor, Tensor]:
        """Live rows of requests whose parents ascend within their rows; `bit` marks the others.

        Args:
            parent: int32 [R].
            row_start: int32 [B + 1].
            live: int32 [B].
            status: int32 [B], written.
            bit: of status.

        Returns:
            bool [R], and for these rows the parent, for all others the row itself, int32 [R].
        """
        owner = self.owner(row_start)
        alive = self.alive(owner, row_start, live)
        # row_start[B] follows row_start[B - 1]: rows of nobody are not alive, whatever they read
        here = self.within(owner)
        outside = parent < row_start.index_select(0, here)
        outside = outside | (parent >= row_start.index_select(0, here + 1))
        # a request's first row has nobody of its own before it
        falls = (parent[1:] < parent[:-1]) & (owner[1:] == owner[:-1])
        outside[1:].copy_(outside[1:] | falls)
        bad = mark(self.of_request(owner) & (outside & alive), status, bit)
        good = alive & ~bad.index_select(0, here)
        return good, torch.where(good, parent, self.number)


def mark(flags: Tensor, status: Tensor, bit: int) -> Tensor:
    """Requests [B] with any of `flags` [B, n]; they get a bit of status [B]."""
    found = flags.any(1)
    status.copy_(status | found.to(torch.int32) * bit)
    return found
