"""Floors: no implementation is faster than the memory it must move or the products it must do."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ceilings:
    """What a device does at most: bytes read and written in a second, FLOP in a second."""

    bytes_per_s: float
    flops_per_s: float


# a large copy and a large bfloat16 product on an H200
H200 = Ceilings(4.3e12, 780e12)


@dataclass(frozen=True, slots=True)
class Work:
    """What a call must do at least: bytes that it moves, floating point operations."""

    bytes: int
    flops: int = 0

    def floor_us(self, ceilings: Ceilings = H200) -> float:
        """Microseconds below which no implementation gets."""
        return 1e6 * max(self.bytes / ceilings.bytes_per_s, self.flops / ceilings.flops_per_s)

    def bound(self, ceilings: Ceilings = H200) -> str:
        """What sets the floor: "M", memory, or "C", arithmetic."""
        memory = self.bytes / ceilings.bytes_per_s
        return "M" if memory >= self.flops / ceilings.flops_per_s else "C"


def geomean(values: Iterable[float]) -> float:
    """Geometric mean of positive numbers.

    Raises:
        ValueError: there are none.
    """
    logs = [math.log(value) for value in values]
    if not logs:
        raise ValueError("geomean of no values")
    return math.exp(sum(logs) / len(logs))
