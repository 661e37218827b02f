"""Paged attention in Triton."""

from __future__ import annotations

from typing import Any

import torch

from xgr.backends.cuda.device import interpreting, multiprocessors
from xgr.backends.cuda.paged_attention.kernel import paged_kernel
from xgr.backends.cuda.staged_attention.heuristic import power_of_two
from xgr.backends.cuda.staged_attention.launch import LOG2_E, block_d, positive, strides
from xgr.ops.dtype import dtype, float32, int32
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher

# blocks of threads that fill the machine, for each SM, and parts of one row that still pay
_BLOCKS_A_CORE, _SPLITS = 8, 16


def build(problem: Problem, context: Context) -> Launcher:
    """Choose the tile and allocate the workspaces of split rows."""
    return Paged(problem, context)


class Paged:
    """`paged_kernel` bound to a problem."""

    def __init__(self, problem: Problem, context: Context) -> None:
        a, config = problem.sizes, context.config
        # bytes of keys and values at a time: 16 KiB of each keep a few stages and blocks an SM
        room = 16384 // (dtype(problem.dtype).itemsize * block_d(problem))
        block_n = config.get("block_n", max(16, min(64, room)))
        blocks, units = a["R"] * a["G"], -(-a["MB"] * a["BT"] // block_n)
        splits = min(_SPLITS, units, _BLOCKS_A_CORE * multiprocessors() // blocks)
        splits = max(1, config.get("splits", splits))
        splits = 1 << (splits.bit_length() - 1)
        warps, exact = config.get("warps", 4), problem.dtype == "float32"
        block_m = max(16, power_of_two(a["H"] // a["G"]))
        self._requests, self._grid = a["B"], (a["G"] * splits, a["R"])
        self._workspaces: tuple[Any, ...] = None, None, None
        if splits > 1:
            arrivals: Any = context.empty((blocks,), int32)
            arrivals.zero_()
            sums = context.empty((blocks * splits, block_m, block_d(problem)), float32)
            stats = context.empty((blocks * splits, 2, block_m), float32)
            self._workspaces = sums, stats, arrivals
        self._constants = {
            "GROUP": a["H"] // a["G"],
            "SIZE": a["d"],
            "TOKENS": a["BT"],
            "BLOCK_B": power_of_two(a["B"]),
            "BLOCK_M": block_m,
            "BLOCK_N": block_n,
            "BLOCK_D": block_d(problem),
            "SPLITS": splits,
            # the interpreter has no products of bfloat16
            "WIDEN": interpreting() and problem.dtype == "bfloat16",
            "num_warps": warps,
            # one for the table, one for keys and values, one to multiply
            "num_stages": config.get("stages", 1 if exact else 3),
        }
        if exact:  # left to itself, ptxas spills a few registers for more blocks an SM
            self._constants["maxnreg"] = min(255, 65536 // (32 * warps))

    def __call__(
        self,
        *,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        block_table: torch.Tensor,
        prompt_len: torch.Tensor,
        row_start: torch.Tensor,
        live: torch.Tensor,
        step: int,
        scale: float,
        out: torch.Tensor,
        lse: torch.Tensor,
    ) -> None:
        """Launch on the current stream."""
        paged_kernel[self._grid](
            q, k, v, block_table, prompt_len, row_start, live, out, lse, *self._workspaces,
            self._requests, step, positive(scale) * LOG2_E,
            strides("q", q), strides("k", k), strides("v", v),
            strides("block_table", block_table), strides("out", out), strides("lse", lse),
            **self._constants,
        )  # fmt: skip
