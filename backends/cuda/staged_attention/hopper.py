"""Fused staged attention for sm_90 in Gluon: the launch of `hopper_kernel`."""

from __future__ import annotations

import math
from typing import Any

import torch
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

from xgr.backends.cuda.device import multiprocessors
from xgr.backends.cuda.staged_attention.heuristic import (
    WARPGROUP,
    choose_hopper,
    own_block,
    power_of_two,
)
from xgr.backends.cuda.staged_attention.hopper_kernel import hopper_kernel
from xgr.backends.cuda.staged_attention.launch import grid, positive, strides, workspaces
from xgr.errors import Reason, Unsupported
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher

LOG2_E = math.log2(math.e)
# elements that hardware copies want rows and heads to begin at multiples of: 16 bytes
ALIGNED = 8


def build(problem: Problem, context: Context) -> Launcher:
    """Choose tiles and allocate the workspaces of a split prompt."""
    return HopperAttention(problem, context)


class HopperAttention:
    """`hopper_kernel` bound to a problem of staged or shared attention.

    Attributes:
        tiles: how the problem is cut.
    """

    def __init__(self, problem: Problem, context: Context) -> None:
        a = problem.sizes
        self._name = f"cuda.hopper of {problem.op}"
        self._rows, self._requests, self._groups = a["R"], a["B"], a["G"]
        self.tiles = choose_hopper(problem, multiprocessors(), context.config)
        self._grid = grid(problem, self.tiles)
        consumers = self.tiles.block_m // WARPGROUP
        self._workspaces = workspaces(problem, context, self.tiles, consumers)
        element = {"bfloat16": gl.bfloat16, "float16": gl.float16}[problem.dtype]
        self._tile = [self.tiles.block_n, a["d"]]
        self._layout = gl.NVMMASharedLayout.get_default_for(self._tile, element)
        own = own_block(problem, self.tiles)
        self._constants = {
            "GROUP": a["H"] // a["G"],
            "SIZE": a["d"],
            "REQUESTS": power_of_two(a["B"] + 1),
            "CONSUMERS": consumers,
            "BLOCK_N": self.tiles.block_n,
            "BLOCK_OWN": own,
            "STAGES": self.tiles.stages,
            "SPLITS": self.tiles.splits,
            "CHUNK": self.tiles.chunk,
            "num_warps": self.tiles.warps,
            # a launch may begin before the one before it has ended; the kernel waits for it
            "launch_pdl": True,
        }
        if consumers == 1:
            # of two blocks an SM, or enough for units of 128 keys
            wide = max(self.tiles.block_n, own) > 64
            self._constants["maxnreg"] = 192 if wide else 128

    def __call__(
        self,
        *,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        prompt_start: torch.Tensor,
        prompt_len: torch.Tensor,
        row_start: torch.Tensor,
        live: torch.Tensor,
        scale: float,
        out: torch.Tensor,
        lse: torch.Tensor,
        k_unshared: torch.Tensor | None = None,
        v_unshared: torch.Tensor | None = None,
        ancestors: torch.Tensor | None = None,
        step: int = 0,
    ) -> None:
        """Launch on the current stream; see `xgr.ops` for the arguments."""
        at = (
            self._aligned("q", q), self._aligned("k_unshared", k_unshared),
            self._aligned("v_unshared", v_unshared), strides("ancestors", ancestors),
            self._aligned("out", out), strides("lse", lse),
        )  # fmt: skip
        hopper_kernel[self._grid](
            q, self._descriptor("k", k), self._descriptor("v", v), k_unshared, v_unshared,
            ancestors, prompt_start, prompt_len, row_start, live, out, lse, *self._workspaces,
            self._rows, self._requests, step, positive(scale) * LOG2_E, k.stride(1), v.stride(1),
            AT=at, **self._constants,
        )  # fmt: skip

    def _descriptor(self, name: str, tensor: torch.Tensor) -> Any:
        """K or V of prompts as [T, columns]: a tile is some tokens of one head."""
        token, head = self._aligned(name, tensor)
        columns = (self._groups - 1) * head + tensor.shape[2]
        if columns > token:
            raise self._refused(name, tensor, "the heads of a token side by side")
        shape = [tensor.shape[0], columns]
        return TensorDescriptor(tensor, shape, [token, 1], self._tile, self._layout)

    def _aligned(self, name: str, tensor: torch.Tensor | None) -> tuple[int, ...]:
        """Strides of all axes but the last.

        Raises:
            Unsupported: vectors do not begin at multiples of 16 bytes.
        """
        outer = strides(name, tensor)
        if tensor is not None and (tensor.data_ptr() % 16 or any(x % ALIGNED for x in outer)):
            raise self._refused(name, tensor, "vectors that begin at multiples of 16 bytes")
        return outer

    def _refused(self, name: str, tensor: torch.Tensor, need: str) -> Unsupported:
        got = f"{list(tensor.stride())} from {tensor.data_ptr() % 16} bytes on"
        hint = f"pass {name}.contiguous(), or kernel='cuda.triton'"
        reason = Reason("strides", got, need, hint)
        return Unsupported(f"{name} cannot be copied by hardware", [(self._name, reason)])
