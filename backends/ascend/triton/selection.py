"""How the candidates of beam_sort are cut into tiles, and which problems fit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xgr.errors import Reason
from xgr.ops.spec import Problem

# what the unified buffer holds: greatest candidates beside a tile, keys of a request's survivors
MOST_SLOTS, MOST_BLOCK, MOST_WIDTH = 4096, 1024, 4096
LEAST_BLOCK = 512


@dataclass(frozen=True, slots=True)
class Tiles:
    """A cut: `count` tiles of `block` columns a row; powers of two that hold all tiles of a
    request (`slots`) and all of its output rows (`width`).
    """

    count: int
    block: int
    slots: int
    width: int


def tiles_of(problem: Problem) -> Tiles:
    """Tiles as small as the greatest candidates of all rows allow: a small one is opened sooner."""
    a = problem.sizes
    block = LEAST_BLOCK
    while block < MOST_BLOCK and a["R"] * _tiles(a["C"], block) > MOST_SLOTS:
        block *= 2
    count = _tiles(a["C"], block)
    return Tiles(count, block, power_of_two(a["R"] * count), power_of_two(a["RO"]))


def fits(problem: Problem) -> Iterable[Reason]:
    """Reasons against a problem: a request may have all rows, and all output rows."""
    tiles = tiles_of(problem)
    if tiles.slots > MOST_SLOTS:
        got = f"{problem.sizes['R']} rows of {tiles.count} tiles of {tiles.block}"
        yield Reason("limit", got, f"{MOST_SLOTS} tiles or fewer", "sort fewer rows at a time")
    if tiles.width > MOST_WIDTH:
        yield Reason("limit", f"RO={problem.sizes['RO']}", f"1..{MOST_WIDTH}")


def _tiles(columns: int, block: int) -> int:
    return -(-columns // block)


def power_of_two(count: int) -> int:
    """Least power of two that is not below a count of 1 or more."""
    return 1 << max(count - 1, 0).bit_length()
