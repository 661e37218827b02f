"""How prefill attention is cut: the rule, and what a sweep may try instead of it.

Not measured yet: the tile is the one that the plain probes of staged attention were fastest with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from xgr.backends.cuda.staged_attention.heuristic import Tiles, power_of_two, tile_count
from xgr.ops.dtype import dtype
from xgr.ops.spec import Problem

TUNABLES = ("block_m", "block_n", "warps", "stages", "splits", "chunk", "fold")
# elements of a head: beyond it a tile does not fit the registers
LARGEST_HEAD = 256
# blocks that an SM holds at once, and parts of one tile that still pay
BLOCKS_A_CORE, SPLITS = 2, 16
# bytes of shared memory that tiles may take
_SHARED = 227 << 10


def choose(
    problem: Problem, cores: int, arch: int, config: Mapping[str, int]
) -> tuple[Tiles, bool]:
    """Tiles of a problem, and whether their order is folded (see `kernel.order`).

    Args:
        problem: of prefill_attention.
        cores: SMs of the device.
        arch: its architecture, 90 for sm_90.
        config: values that overrule the choice, by the names of TUNABLES.
    """
    a = problem.sizes
    group = a["H"] // a["G"]
    tiles = _tiles(a["d"], dtype(problem.dtype).itemsize, arch)
    if problem.flag("bias") and (a["d"] > 64 or arch < 90):
        # the buckets of a wider tile do not fit the registers beside its sums, nor before sm_90
        # beside its queries
        tiles = replace(tiles, block_n=min(tiles.block_n, 32 if a["d"] <= 128 else 16))
    mean = -(-a["N"] * group // max(1, a["B"]))  # query vectors of a request and kv head
    block_m = max(power_of_two(group), min(tiles.block_m, power_of_two(max(mean, 16))))
    tiles = replace(tiles, block_m=block_m)
    mine = {k: v for k, v in config.items() if k not in {"splits", "fold"}}
    tiles = replace(tiles, **mine)
    places = BLOCKS_A_CORE * cores
    blocks = max(1, tile_count(problem, tiles) - a["B"] - 1) * a["G"]
    parts = power_of_two(max(1, -(-a["T"] // (tiles.block_n * tiles.chunk))))
    splits = max(1, config.get("splits", min(SPLITS, parts, places // blocks)))
    tiles = replace(tiles, splits=1 << (splits.bit_length() - 1))
    fold = bool(problem.flag("causal")) and blocks * tiles.splits <= places
    return tiles, bool(config.get("fold", fold))


def space(problem: Problem, cores: int, arch: int) -> Mapping[str, Sequence[dict[str, int]]]:
    """Configurations worth measuring for a problem, by kernel, the chosen one first."""
    a, item = problem.sizes, dtype(problem.dtype).itemsize
    tiles, fold = choose(problem, cores, arch, {})
    chosen: dict[str, Any] = {n: getattr(tiles, n) for n in TUNABLES[:-1]} | {"fold": int(fold)}
    found = [chosen]
    if item == 4 or a["d"] > 128:
        return {"cuda.triton": found}
    for (block_m, warps), block_n, stages, fold in product(
        ((64, 4), (128, 8)), (64, 128), (2, 3, 4), (False, True)
    ):
        given = {"block_m": block_m, "block_n": block_n, "warps": warps, "stages": stages}
        tiles, _ = choose(problem, cores, arch, given)
        shared = a["d"] * item * (block_m + 2 * stages * block_n)
        for splits in {tiles.splits, 1}:
            one = {**given, "splits": splits, "chunk": tiles.chunk, "fold": int(fold)}
            if shared <= _SHARED and one not in found:
                found.append(one)
    return {"cuda.triton": found}


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
