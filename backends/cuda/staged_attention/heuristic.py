"""Tiles, splits and warps of the attention kernels from the sizes of a problem.

The rules: a tile of queries that the tensor cores fill, and as many parts of the prompt as it takes
to give every SM work, where each part is long enough to be worth the join.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from xgr.errors import Reason
from xgr.ops.dtype import dtype
from xgr.ops.spec import Problem

# blocks that fill the machine, for each SM, and parts of one tile that still pay
BLOCKS_A_CORE, SPLITS = 2, 16
# elements of a head: beyond it a tile does not fit the registers
LARGEST_HEAD = 256
TUNABLES = ("block_m", "block_n", "warps", "stages", "splits", "chunk")
# query vectors of a warpgroup's product: the heads of a K/V head must divide them
WARPGROUP = 64
# bytes of shared memory of an SM that tiles of cuda.hopper can have
SHARED = 225 * 1024
# keys below which a part of the prompt costs more than it saves
SHORTEST_PART = 224
# what a tile in parts costs more, and each part of 64 query vectors of it; microseconds on an H200
JOIN, JOIN_PART = 1.1, 0.32
PARTS = (1, 2, 4, 8, 16)


@dataclass(frozen=True, slots=True)
class Tiles:
    """How a problem is cut.

    Attributes:
        block_m: query vectors of a tile, a power of two from 16 on.
        block_n: keys of a unit, a power of two from 16 on.
        warps: warps of a block.
        stages: depth of the pipeline of loads.
        splits: greatest number of blocks that divide the keys of a tile, a power of two.
        chunk: least number of units that such a block takes.
    """

    block_m: int
    block_n: int
    warps: int
    stages: int
    splits: int = 1
    chunk: int = 4


def choose(problem: Problem, cores: int, arch: int, config: Mapping[str, int]) -> Tiles:
    """Tiles of a problem.

    Args:
        problem: of an attention op.
        cores: SMs of the device.
        arch: its architecture, 90 for sm_90.
        config: values that overrule the choice, by name of an attribute of `Tiles`.
    """
    a = problem.sizes
    rows, requests, group = query_rows(problem), a["B"], a["H"] // a["G"]
    tiles = _tiles(a["d"], dtype(problem.dtype).itemsize, arch)
    mean = -(-rows * group // max(1, requests))
    block_m = max(power_of_two(group), min(tiles.block_m, power_of_two(max(mean, 16))))
    tiles = replace(tiles, block_m=block_m)
    tiles = replace(tiles, **{k: v for k, v in config.items() if k != "splits"})
    blocks = _blocks(problem, tiles)
    own = a.get("S", 0) * (tiles.block_m // group)
    units = -(-a.get("T", 0) // tiles.block_n) + -(-own // tiles.block_n)
    parts = power_of_two(max(1, -(-units // tiles.chunk)))
    splits = min(SPLITS, parts, BLOCKS_A_CORE * cores // blocks)
    splits = max(1, config.get("splits", splits))
    return replace(tiles, splits=1 << (splits.bit_length() - 1))


def choose_hopper(problem: Problem, cores: int, config: Mapping[str, int]) -> Tiles:
    """Tiles of a problem for the sm_90 kernel; arguments as of `choose`.

    The cheapest by `_Shape.cost` of every shape that fits `config`, whole or in parts.
    """
    fixed = {k: v for k, v in config.items() if k not in ("splits", "warps")}
    splits = [1 << (max(1, config["splits"]).bit_length() - 1)] if "splits" in config else PARTS
    shapes = [one for one in HOPPER_SHAPES if one.tiles.block_m == config.get("block_m")]
    keys = max(1, problem.sizes["T"] // max(1, problem.sizes["B"]))

    def cost(choice: tuple[_Shape, int]) -> float:
        shape, splits = choice
        return shape.cost(_blocks(problem, shape.tiles), keys, splits, cores)

    shape, count = min(product(shapes or HOPPER_SHAPES, splits), key=cost)
    return replace(shape.tiles, **fixed, splits=count)


@dataclass(frozen=True, slots=True)
class _Shape:
    """Tiles of the sm_90 kernel and what they cost, in microseconds on an H200.

    Fitted to 594 measured launches of 87 problems, with a mean error of 7 %.

    Attributes:
        resident: blocks that an SM holds.
        block: of a block without units.
        unit: of a unit where an SM holds one block.
        shared_unit: of a unit of each of several blocks.
    """

    tiles: Tiles
    resident: int
    block: float
    unit: float
    shared_unit: float

    def cost(self, blocks: int, keys: int, splits: int, cores: int) -> float:
        """Of `blocks` tiles over so many keys each, cut into `splits` parts."""
        if splits > max(1, keys // SHORTEST_PART):
            return float("inf")
        load = -(-blocks * splits // cores)
        units = -(-keys // (self.tiles.block_n * splits))
        each = self.block + units * (self.unit if load == 1 else self.shared_unit)
        if splits > 1:
            each += JOIN + JOIN_PART * splits * (self.tiles.block_m // WARPGROUP)
        return -(-load // self.resident) * each


# two warpgroups share K and V, and so read half as much
HOPPER_SHAPES = (
    _Shape(Tiles(64, 64, warps=4, stages=2, chunk=4), 2, block=6.3, unit=0.865, shared_unit=1.01),
    _Shape(Tiles(64, 64, warps=4, stages=4, chunk=4), 1, block=5.4, unit=0.67, shared_unit=0.65),
    _Shape(Tiles(64, 128, warps=4, stages=2, chunk=2), 1, block=5.6, unit=1.12, shared_unit=1.08),
    _Shape(Tiles(128, 128, warps=4, stages=2, chunk=2), 1, block=7.55, unit=1.63, shared_unit=1.58),
)


def own_block(problem: Problem, tiles: Tiles) -> int:
    """Own keys of a unit: all of a consumer's, if the shared memory that is left holds them.

    They are on their way from the beginning then. A second block of an SM is worth more.
    """
    a = problem.sizes
    keys = a.get("S", 0) * (WARPGROUP // (a["H"] // a["G"]))
    vector, consumers = 2 * a["d"], tiles.block_m // WARPGROUP
    ring = (2 * tiles.stages * tiles.block_n + tiles.block_m) * vector
    two = tiles.block_m == tiles.block_n == 64 and 2 * (ring + 128 * vector) <= SHARED
    if keys <= 64 or two:
        return 64
    return 128 if ring + 2 * consumers * 128 * vector <= SHARED else 64


def space(problem: Problem, cores: int, arch: int) -> Mapping[str, Sequence[Mapping[str, int]]]:
    """Configurations worth timing of each kernel that shares this heuristic, by its name."""
    return {
        "cuda.triton": list(_space(problem, cores, (
            (64, 64, 4, 3), (64, 128, 4, 2), (128, 128, 8, 2),
        ))),
        "cuda.hopper": list(_space(problem, cores, (
            (64, 64, 4, 2), (64, 64, 4, 4), (64, 128, 4, 2), (128, 128, 4, 2),
        ))),
    }  # fmt: skip


def _space(
    problem: Problem, cores: int, shapes: Sequence[tuple[int, int, int, int]]
) -> Iterator[Mapping[str, int]]:
    """Tiles of each shape, whole and in parts that fill the machine half or up to three times."""
    mean = problem.sizes.get("T", 0) // max(1, problem.sizes["B"])
    for (block_m, block_n, warps, stages), log in product(shapes, range(5)):
        blocks = _blocks(problem, Tiles(block_m, block_n, warps, stages)) << log
        if log == 0 or (cores <= 2 * blocks <= 6 * cores and mean >> log >= block_n):
            names = ("block_m", "block_n", "warps", "stages", "splits", "chunk")
            values = (block_m, block_n, warps, stages, 1 << log, 1)
            yield dict(zip(names, values, strict=True))


def _blocks(problem: Problem, tiles: Tiles) -> int:
    """Blocks of an unsplit launch that have work where all rows are live and widths alike."""
    a = problem.sizes
    requests = max(1, a["B"])
    width = -(-query_rows(problem) // requests)
    return requests * -(-width // (tiles.block_m // (a["H"] // a["G"]))) * a["G"]


def _one_warpgroup(problem: Problem) -> Iterator[Reason]:
    """Reasons against the sm_90 kernel that sizes alone do not give."""
    a = problem.sizes
    if a["d"] not in (64, 128):
        yield Reason("head size", f"d={a['d']}", "64 or 128", "cuda.triton takes any")
    if WARPGROUP % (a["H"] // a["G"]):
        need = f"a power of two up to {WARPGROUP}"
        yield Reason("group", f"H/G={a['H'] // a['G']}", need, "cuda.triton takes any")


HOPPER: Mapping[str, Any] = {
    "archs": ("sm_90",),
    "dtypes": ("bfloat16", "float16"),
    "rule": _one_warpgroup,
    "tunables": ("block_m", "block_n", "stages", "splits", "chunk"),
}


def _tiles(size: int, itemsize: int, arch: int) -> Tiles:
    """Tiles of a head size and element size where there are rows enough for them."""
    if itemsize == 4:
        return Tiles(block_m=32, block_n=32, warps=4, stages=1)
    if size <= 64 or (arch >= 90 and size <= 128):
        return Tiles(block_m=64, block_n=64, warps=4, stages=3)
    if arch >= 90:
        return Tiles(block_m=64, block_n=32, warps=8, stages=3)
    # queries are operands from registers, of which a thread has 255
    if size <= 128:
        return Tiles(block_m=32, block_n=64, warps=4, stages=3)
    return Tiles(block_m=16, block_n=32, warps=4, stages=3)


def query_rows(problem: Problem) -> int:
    """Query rows of all requests."""
    a = problem.sizes
    return a["R"] if "R" in a else a["N"]


def tile_count(problem: Problem, tiles: Tiles) -> int:
    """Tiles of one kv head that hold the rows of all requests, however wide each, and of nobody."""
    a = problem.sizes
    return query_rows(problem) // (tiles.block_m // (a["H"] // a["G"])) + a["B"] + 1


def power_of_two(least: int) -> int:
    """The smallest power of two that is not below `least` (1 or more)."""
    return 1 << (least - 1).bit_length()
