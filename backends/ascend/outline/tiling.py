"""How the kernels of `csrc` divide their work, as csrc/host/tiling.h computes it.

For plans on machines that have no compiler; a test holds both together. Sizes are in bytes unless
they say otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

KIB = 1 << 10
SORT_PAIRS = 2048
MOST_SURVIVORS = 3072
LIST_HEADER = 32
CHUNK = 1024
# survivors on their way out and their columns; tiles whose greatest score is remembered
HELD, COLUMNS, MAXIMA = 512, 4, 2048


@dataclass(frozen=True, slots=True)
class Tiling:
    """A launch of a kernel.

    Attributes:
        cores: vector cores that it is launched on.
        ub: of the unified buffer of each.
        workspace: of global memory.
        tile: what a core holds at once, in words.
    """

    cores: int
    ub: int
    workspace: int
    tile: str


def kv_reorder(
    requests: int,
    layers: int,
    rows: int,
    groups: int,
    size: int,
    item: int,
    step: int,
    cores: int,
) -> Tiling:
    """Pieces of rows, staged in halves of the buffer; axes B, L, R, G, d."""
    row = max(step, 1) * groups * size * item
    piece = 8 * KIB
    while piece > 512 and 2 * layers * requests * -(-row // piece) < 4 * cores:
        piece //= 2
    piece = min(piece, _up(row, 32))
    held = min(max(80 * KIB // _up(piece, 32), 1), CHUNK)
    held = min(held, _up(rows, 8))
    units = 2 * layers * -(-row // piece) if step else 1
    ub = _up(4 * held, 32) + 32 + 2 * held * _up(piece, 32)
    tile = f"{held} rows of {piece} bytes, twice"
    return Tiling(min(cores, requests * units), ub, 0, tile)


def mask_filter(requests: int, rows: int, columns: int, item: int, cores: int) -> Tiling:
    """Tiles of a row's scores; axes B, R, K."""
    tile = 64
    while tile < columns and tile < 4096:
        tile *= 2
    batch = 2 * _up(4 * (requests + 1), 32)
    legal = 2 * 4 * CHUNK + _up(4 * (CHUNK // 32 + 1), 32)
    tiles = 2 * tile * item + 5 * 4 * tile + _up(tile // 8, 32) + 32
    return Tiling(min(cores, rows), batch + legal + tiles, 0, f"{tile} columns")


def beam_topk(requests: int, rows: int, columns: int, out_rows: int, cores: int) -> Tiling:
    """Tiles of scores, the best so far of a request and what may join them; axes B, R, C, RO."""
    tile = 64
    while tile < columns and tile < 1024:
        tile *= 2
    while tile > 256 and rows * -(-columns // tile) < 2 * cores:
        tile //= 2
    width = _up(min(max(out_rows, 1), MOST_SURVIVORS), 8)
    best = 2 * 4 * SORT_PAIRS + 2 * 8 * SORT_PAIRS + 8 * width
    best += 8 * (width + max(width, SORT_PAIRS))
    batch = 4 * _up(4 * (requests + 1), 32) + 4 * CHUNK
    tiles = 4 * 4 * tile + _up(tile // 8, 32) + 32
    rest = 4 * MAXIMA + 2 * LIST_HEADER + _up(cores * LIST_HEADER, 32) + 4 * COLUMNS * HELD
    workspace = (cores + requests) * (LIST_HEADER + 8 * width)
    workspace += cores * 4 * MAXIMA + 4 * _up(out_rows, 8) * 4
    shape = f"{tile} columns, {width} survivors, {SORT_PAIRS} pairs a sort"
    return Tiling(cores, best + batch + tiles + rest, workspace, shape)


def _up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple
