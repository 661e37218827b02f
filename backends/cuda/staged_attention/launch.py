"""The launch of the attention kernel, with or without either stage."""

from __future__ import annotations

import math
from typing import Any

import torch

from xgr.backends.cuda.device import architecture, interpreting, multiprocessors
from xgr.backends.cuda.staged_attention.heuristic import (
    BLOCKS_A_CORE,
    Tiles,
    choose,
    power_of_two,
    tile_count,
)
from xgr.backends.cuda.staged_attention.kernel import attention_kernel
from xgr.errors import InputError
from xgr.ops.dtype import float32, int32
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context

LOG2_E = math.log2(math.e)


class Attention:
    """`attention_kernel` bound to a problem that has the axes R, H, G, d and B.

    Args:
        cores: where given, SMs that the tiles are chosen for, and whose worth of blocks runs at a
            time: launch after launch, each of which waits for the one before it.

    Attributes:
        tiles: how the problem is cut.
        waves: first block and number of blocks of each launch.
    """

    def __init__(self, problem: Problem, context: Context, cores: int | None = None) -> None:
        a = problem.sizes
        self._rows, self._requests = a["R"], a["B"]
        config = context.config if cores is None else {}
        self.tiles = choose(problem, cores or multiprocessors(), architecture(), config)
        count = math.prod(grid(problem, self.tiles))
        most = count if cores is None else BLOCKS_A_CORE * cores
        self.waves = [(first, min(most, count - first)) for first in range(0, count, most)]
        self._workspaces = workspaces(problem, context, self.tiles)
        self._constants = constants(problem, self.tiles) | {"GROUPS": a["G"]}

    def __call__(
        self,
        *,
        q: torch.Tensor,
        row_start: torch.Tensor,
        live: torch.Tensor,
        scale: float,
        out: torch.Tensor,
        lse: torch.Tensor,
        k: torch.Tensor | None = None,
        v: torch.Tensor | None = None,
        prompt_start: torch.Tensor | None = None,
        prompt_len: torch.Tensor | None = None,
        k_unshared: torch.Tensor | None = None,
        v_unshared: torch.Tensor | None = None,
        ancestors: torch.Tensor | None = None,
        bias: torch.Tensor | None = None,
        step: int = 0,
    ) -> None:
        """Launch on the current stream; see `xgr.ops` for the arguments."""
        at = (
            strides("q", q), strides("k", k), strides("v", v),
            strides("k_unshared", k_unshared), strides("v_unshared", v_unshared),
            strides("ancestors", ancestors), strides("bias", bias),
            strides("out", out), strides("lse", lse),
        )  # fmt: skip
        scale = positive(scale) * LOG2_E
        for first, count in self.waves:
            attention_kernel[(count,)](
                q, k, v, k_unshared, v_unshared, ancestors, bias,
                prompt_start, prompt_len, row_start, live,
                out, lse, *self._workspaces,
                self._rows, self._requests, step, scale, first, *at, **self._constants,
            )  # fmt: skip


def strides(name: str, tensor: torch.Tensor | None) -> tuple[int, ...]:
    """Strides of all axes but the last.

    Raises:
        InputError: elements of the last axis lie apart.
    """
    if tensor is None:
        return ()
    *outer, last = tensor.stride()
    if last != 1 and tensor.shape[-1] > 1:
        raise InputError(
            f"{name} has strides {list(tensor.stride())}, need 1 in the last axis: "
            f"pass {name}.contiguous()"
        )
    return tuple(outer)


def positive(scale: float) -> float:
    """The scale, where the kernels can take it.

    Raises:
        InputError: it is not above 0.
    """
    if not scale > 0:
        raise InputError(f"scale is {scale}, need more than 0: turn the sign of the queries")
    return scale


def workspaces(
    problem: Problem, context: Context, tiles: Tiles, consumers: int = 1
) -> tuple[Any, Any, Any]:
    """Sums, stats and arrivals for `partials`; None of each where nothing is split.

    `consumers` of a block count their arrivals each for itself.
    """
    if tiles.splits == 1:
        return None, None, None
    a = problem.sizes
    places = tile_count(problem, tiles) * a["G"]
    slots = places * tiles.splits
    arrivals: Any = context.empty((places * consumers,), int32)
    arrivals.zero_()
    sums = context.empty((slots, tiles.block_m, block_d(problem)), float32)
    return sums, context.empty((slots, 2, tiles.block_m), float32), arrivals


def grid(problem: Problem, tiles: Tiles) -> tuple[int, int]:
    """Blocks of a launch. Idle ones, of the last tiles, come last."""
    return problem.sizes["G"] * tiles.splits, tile_count(problem, tiles)


def constants(problem: Problem, tiles: Tiles) -> dict[str, int]:
    """What the kernels of staged attention and of prefill are compiled for, and with."""
    a = problem.sizes
    fixed = {
        "GROUP": a["H"] // a["G"],
        "SIZE": a["d"],
        "REQUESTS": power_of_two(a["B"] + 1),
        "BLOCK_M": tiles.block_m,
        "BLOCK_N": tiles.block_n,
        "BLOCK_D": block_d(problem),
        "SPLITS": tiles.splits,
        "CHUNK": tiles.chunk,
        # the interpreter has no products of bfloat16
        "WIDEN": interpreting() and problem.dtype == "bfloat16",
        "num_warps": tiles.warps,
        "num_stages": tiles.stages,
    }
    if problem.dtype == "float32" or architecture() >= 100:
        # left to itself, ptxas spills a few registers for more blocks an SM
        fixed["maxnreg"] = min(255, 65536 // (32 * tiles.warps))
    return fixed


def block_d(problem: Problem) -> int:
    """Columns of a tile of vectors."""
    return power_of_two(max(16, problem.sizes["d"]))
