"""Tiles, splits and warps of the attention kernels from the sizes of a problem.

Measured on an H200 at head size 128: tiles of 64 x 64, 4 warps and 3 stages are the best or near
it at every size; what differs is how often the prompt must be split to fill the machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from xgr.ops.dtype import dtype
from xgr.ops.spec import Problem

# blocks that fill the machine, for each SM, and parts of one tile that still pay
BLOCKS_A_CORE, SPLITS = 2, 16
# elements of a head: beyond it a tile does not fit the registers
LARGEST_HEAD = 256
TUNABLES = ("block_m", "block_n", "warps", "stages", "splits", "chunk")


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
    blocks = max(1, tile_count(problem, tiles) - requests - 1) * a["G"]
    own = a.get("S", 0) * (tiles.block_m // group)
    units = -(-a.get("T", 0) // tiles.block_n) + -(-own // tiles.block_n)
    parts = power_of_two(max(1, -(-units // tiles.chunk)))
    splits = min(SPLITS, parts, BLOCKS_A_CORE * cores // blocks)
    splits = max(1, config.get("splits", splits))
    return replace(tiles, splits=1 << (splits.bit_length() - 1))


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
