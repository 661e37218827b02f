"""How the sm_90 kernel of prefill attention cuts a problem, and which problems it takes.

The rule follows from what a tile reads and from how many tiles there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from xgr.backends.cuda.staged_attention.heuristic import WARPGROUP, Tiles, tile_count
from xgr.errors import InputError, Reason
from xgr.ops.spec import Problem

TUNABLES = ("block_m", "block_n", "stages", "fold", "divide")
# Two blocks share an SM. Or a block has two consumers, each K/V tile is read once for both, and
# registers of a whole SM are theirs.
NARROW = Tiles(WARPGROUP, block_n=64, warps=4, stages=2)
WIDE = Tiles(2 * WARPGROUP, block_n=128, warps=4, stages=2)
# with fewer blocks most SMs idle, and keys are better divided between blocks
FEWEST_BLOCKS = 32


@dataclass(frozen=True, slots=True)
class Cut:
    """How a problem is cut.

    Attributes:
        tiles: of a block; stages are those of each ring.
        fold: the order of tiles is folded, see `hopper_kernel.order`.
        divide: two consumers divide the keys of this many tiles, see `hopper_halves`; or 0.
    """

    tiles: Tiles
    fold: bool
    divide: int

    def places(self, problem: Problem) -> int:
        """Blocks of a kv head."""
        tiles, idle = tile_count(problem, self.tiles), problem.sizes["B"] + 1
        if self.divide:
            return max(-(-(tiles - idle) // self.divide), idle)
        return tiles


def choose(problem: Problem, cores: int, config: Mapping[str, int]) -> Cut:
    """How to cut a problem.

    With no more than two tiles an SM a launch lasts as long as its longest tile, whose keys are
    divided then. Wide tiles once every SM has two of them, so that the last ones to end are
    few among many.

    Args:
        problem: of prefill_attention.
        cores: SMs of the device.
        config: values that overrule the choice, by the names of TUNABLES.
    """
    tiles = WIDE if _blocks(problem, WIDE) >= 2 * cores else NARROW
    own = {k: v for k, v in config.items() if k not in ("fold", "divide")}
    tiles = replace(tiles, **own)
    causal = bool(problem.flag("causal"))
    divide = 0
    if tiles == NARROW:
        rounds = -(-_blocks(problem, tiles) // cores)
        divide = rounds if rounds == 1 or (rounds == 2 and causal) else 0
    divide = config.get("divide", divide)
    if divide not in ((0, 1, 2) if tiles.block_m == WARPGROUP else (0,)):
        need = f"0, or with block_m={WARPGROUP} 1 or 2"
        raise InputError(f"divide={divide} and block_m={tiles.block_m}, need divide={need}")
    paired = tiles.block_m == WARPGROUP and _blocks(problem, tiles) <= 2 * cores
    fold = config.get("fold", paired and causal and not divide)
    return Cut(tiles, bool(fold), divide)


def space(problem: Problem, cores: int, arch: int) -> Sequence[dict[str, int]]:
    """Configurations worth measuring for a problem, the chosen one first; `arch` is sm_90."""
    cut = choose(problem, cores, {})
    tiles = cut.tiles
    shapes = [(tiles.block_m, tiles.block_n, tiles.stages, int(cut.fold), cut.divide)]
    shapes += [(64, 64, 2, 0, 1), (64, 64, 2, 0, 2), (64, 64, 2, 0, 0), (64, 64, 2, 1, 0)]
    shapes += [(64, 64, 3, 0, 0), (128, 64, 2, 0, 0), (128, 128, 2, 0, 0)]
    return [dict(zip(TUNABLES, one, strict=True)) for one in dict.fromkeys(shapes)]


def lacks(problem: Problem) -> Iterator[Reason]:
    """Reasons why the kernel cannot run a problem that dtype and machine do not give."""
    a = problem.sizes
    if problem.flag("bias"):
        yield Reason("bias", "a table", "no bias", "kernel='cuda.triton'")
    if a["d"] not in (64, 128):
        yield Reason("head size", f"d={a['d']}", "64 or 128", "cuda.triton takes any")
    if WARPGROUP % (a["H"] // a["G"]):
        need = f"a power of two up to {WARPGROUP}"
        yield Reason("group", f"H/G={a['H'] // a['G']}", need, "cuda.triton takes any")


def idles(problem: Problem) -> Iterator[Reason]:
    """Reasons not to choose the kernel unasked: queries too few to give the SMs work."""
    blocks = _blocks(problem, NARROW)
    if blocks < FEWEST_BLOCKS and problem.sizes["T"] > problem.sizes["N"]:
        need = f"{FEWEST_BLOCKS} tiles of {WARPGROUP} query vectors, as keys are not divided"
        yield Reason("tiles", str(blocks), need, "cuda.triton divides them")


def _blocks(problem: Problem, tiles: Tiles) -> int:
    """Blocks of a launch that have work."""
    a = problem.sizes
    return max(1, tile_count(problem, tiles) - a["B"] - 1) * a["G"]


HOPPER: Mapping[str, Any] = {
    "archs": ("sm_90",),
    "dtypes": ("bfloat16", "float16"),
    "rule": lacks,
    "auto": idles,
    "tunables": TUNABLES,
    "space": space,
}
