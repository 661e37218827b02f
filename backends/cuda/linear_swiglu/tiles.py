"""How the sm_90 kernel of linear_swiglu cuts a problem, and which problems it takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xgr.backends.cuda.aligned import uneven
from xgr.errors import InputError, Reason
from xgr.ops.spec import Problem

TUNABLES = ("columns",)
# rows of x in a tile, and elements of a row that are copied at a time
ROWS, BLOCK = 128, 64
# multiprocessors of an H100 or H200 with SXM, for which the choice between this kernel and its
# parts was measured
CORES = 132


@dataclass(frozen=True, slots=True)
class Tiles:
    """What a block keeps in registers and shared memory.

    Attributes:
        wide, slim: columns of the gate, and as many of what it gates, in two parts whose sums have
            registers of their own: two blocks, and one or none.
        stages: blocks of x and of the weights under way, at least three: a consumer waits for the
            next one before it gives the last one back.
        even, saved: what the parts take over what the kernel takes, with every SM at work in
            every round, is even + saved / h: the gate is a smaller share of longer rows.
            Fitted to times of an H200.
    """

    wide: int
    slim: int
    stages: int
    even: float
    saved: int

    @property
    def columns(self) -> int:
        """Of the output."""
        return self.wide + self.slim

    def grid(self, problem: Problem) -> tuple[int, int]:
        """Tiles of a problem, down and across."""
        a = problem.sizes
        return -(-a["N"] // ROWS), -(-a["I"] // self.columns)

    def count(self, problem: Problem) -> int:
        """Tiles of a problem."""
        down, across = self.grid(problem)
        return down * across

    def gain(self, problem: Problem, cores: int) -> float:
        """What the parts take over what the kernel takes."""
        tiles = self.count(problem)
        busy = tiles / max(1, -(-tiles // cores) * cores)
        return busy * (self.even + self.saved / max(1, problem.sizes["h"]))


EVERY = (
    Tiles(128, 0, stages=4, even=1.0, saved=256),
    Tiles(128, 64, stages=3, even=0.95, saved=130),
)


def choose(problem: Problem, cores: int, config: Mapping[str, int]) -> Tiles:
    """Tiles that gain most: they leave few SMs idle.

    Raises:
        InputError: `columns` in `config` that no tiles have.
    """
    if "columns" in config:
        for tiles in EVERY:
            if tiles.columns == config["columns"]:
                return tiles
        known = ", ".join(str(tiles.columns) for tiles in EVERY)
        raise InputError(f"columns={config['columns']}, known: {known}")
    return max(EVERY, key=lambda tiles: tiles.gain(problem, cores))


def space(problem: Problem, cores: int, arch: int) -> Mapping[str, Sequence[Mapping[str, int]]]:
    """Configurations worth measuring."""
    return {"cuda.hopper": [{"columns": tiles.columns} for tiles in EVERY]}


def _uneven_rows(problem: Problem) -> Iterable[Reason]:
    return uneven(problem, "h", "I")


def _parts_are_faster(problem: Problem) -> Iterable[Reason]:
    tiles = choose(problem, CORES, {})
    if tiles.gain(problem, CORES) < 1:
        got = f"{tiles.count(problem)} tiles for the {CORES} SMs of an H200"
        yield Reason("tiles", got, "few idle SMs: the product and the gate are faster")


HOPPER: Mapping[str, Any] = {
    "dtypes": ("bfloat16", "float16"),
    "archs": ("sm_90",),
    "limits": {"h": (BLOCK, 1 << 20), "I": (BLOCK, 1 << 20)},
    "rule": _uneven_rows,
    "auto": _parts_are_faster,
    "tunables": TUNABLES,
}
