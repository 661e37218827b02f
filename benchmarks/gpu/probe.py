"""Plain Triton kernels of a folder that is given, as a yardstick of staged attention.

The folder's kernels.py has `staged_kernel`, one softmax over a prompt and its beams' own tokens
with the prompt in parts, and `combine_unsh_kernel`, which joins parts and own tokens.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks.gpu.staged import OWN, SIZE, Batch, Inputs
from benchmarks.gpu.timing import Call

SCALE = SIZE**-0.5 * math.log2(math.e)
# rows of a block of the second kernel
_JOINED = 8
# blocks beyond which more parts of a prompt do not pay
_BLOCKS = 600


def load(folder: Path) -> Any:
    """The folder's kernels.

    Raises:
        FileNotFoundError: it has none.
    """
    path = folder / "kernels.py"
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not there: give a folder with kernels.py")
    spec = importlib.util.spec_from_file_location("probe_kernels", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def columns(
    kernels: Any, batch: Batch, sets: Sequence[Inputs]
) -> Iterator[tuple[str, str, Sequence[Call]]]:
    """Column, configuration and the call on each set, of uniform batches without dead rows."""
    group, width, tokens = batch.heads // batch.groups, batch.widths[0], batch.lengths[0]
    blocks = len(batch.widths) * batch.groups * (width * group // 64)
    found = [(64, 64, 3, splits) for splits in (1, 2, 4, 8)]
    found += [(64, 128, 2, 2)] if tokens == 256 else []
    for block_m, block_n, stages, splits in found:
        if splits > 1 and (blocks * splits > _BLOCKS or splits * block_n > tokens):
            continue
        name = f"{block_m}x{block_n}w4s{stages}_ns{splits}"
        tiles = (block_m, block_n, stages, splits)
        yield "probe", name, [_call(kernels, batch, one, tiles) for one in sets]


def _call(kernels: Any, batch: Batch, one: Inputs, tiles: tuple[int, int, int, int]) -> Call:
    block_m, block_n, stages, splits = tiles
    requests, width, tokens = len(batch.widths), batch.widths[0], batch.lengths[0]
    rows, split = batch.rows * batch.heads, splits > 1
    sizes = {"HQ": batch.heads, "HKV": batch.groups, "D": SIZE, "TMAX": OWN}
    grid = (width * (batch.heads // batch.groups) // block_m, batch.groups, requests * splits)
    parts, stats = one.out, one.lse
    if split:
        parts = one.out.new_empty(splits * rows, SIZE)
        stats = one.lse.new_empty(splits * rows)

    def call() -> torch.Tensor:
        kernels.staged_kernel[grid](
            one.q, one.k, one.v, None, None, one.k_own, one.v_own, one.out, parts, stats,
            SCALE, tokens, width, OWN, splits, requests,
            **sizes, BM=block_m, BN=block_n, SPLIT=split, TMA=False, UNSH=not split,
            num_warps=4, num_stages=stages,
        )  # fmt: skip
        if split:
            kernels.combine_unsh_kernel[(rows // _JOINED,)](
                parts, stats, one.q, one.k_own, one.v_own, one.out, rows, splits, SCALE, OWN,
                **sizes, R=_JOINED, NSP=splits, num_warps=4,
            )  # fmt: skip
        return one.out

    return call
