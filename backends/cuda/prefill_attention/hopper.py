"""Prefill attention for sm_90 in Gluon: the launch of one of its two kernels."""

from __future__ import annotations

from typing import Any

import torch
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

from xgr.backends.cuda.aligned import misaligned, refused
from xgr.backends.cuda.device import multiprocessors
from xgr.backends.cuda.prefill_attention.hopper_halves import hopper_halves_kernel
from xgr.backends.cuda.prefill_attention.hopper_kernel import hopper_prefill_kernel
from xgr.backends.cuda.prefill_attention.hopper_tiles import choose
from xgr.backends.cuda.staged_attention.heuristic import WARPGROUP, power_of_two, tile_count
from xgr.backends.cuda.staged_attention.launch import LOG2_E, positive, strides
from xgr.errors import Unsupported
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher

# registers of a thread with which two blocks of one consumer share an SM: the producer's
# warpgroup gives most of its own to the consumer
_SHARED_SM = 128


def build(problem: Problem, context: Context) -> Launcher:
    """Choose tiles; there is no workspace."""
    return HopperPrefill(problem, context)


class HopperPrefill:
    """A kernel bound to a problem."""

    def __init__(self, problem: Problem, context: Context) -> None:
        a = problem.sizes
        self._groups = a["G"]
        cut = choose(problem, multiprocessors(), context.config)
        tiles = cut.tiles
        self._grid = a["G"], cut.places(problem)
        element = {"bfloat16": gl.bfloat16, "float16": gl.float16}[problem.dtype]
        self._tile = [tiles.block_n, a["d"]]
        self._layout = gl.NVMMASharedLayout.get_default_for(self._tile, element)
        self._constants = {
            "CAUSAL": bool(problem.flag("causal")),
            "GROUP": a["H"] // a["G"],
            "SIZE": a["d"],
            "REQUESTS": power_of_two(a["B"] + 1),
            "BLOCK_N": tiles.block_n,
            "STAGES": tiles.stages,
            "num_warps": tiles.warps,
            # a launch may begin before the one before it has ended; the kernel waits for it
            "launch_pdl": True,
        }
        self._kernel: Any = hopper_prefill_kernel
        self._sizes = [a["N"], a["B"]]
        if cut.divide:
            self._kernel = hopper_halves_kernel
            self._sizes.append(tile_count(problem, tiles))
            self._constants["PAIRS"] = cut.divide == 2
            return
        self._constants |= {"CONSUMERS": tiles.block_m // WARPGROUP, "FOLD": cut.fold}
        if tiles.block_m == WARPGROUP:
            self._constants["maxnreg"] = _SHARED_SM

    def __call__(
        self,
        *,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        q_start: torch.Tensor,
        prompt_start: torch.Tensor,
        prompt_len: torch.Tensor,
        causal: bool,
        max_distance: int,
        scale: float,
        out: torch.Tensor,
        bias: None = None,
    ) -> None:
        """Launch on the current stream; see `xgr.ops` for the arguments."""
        self._kernel[self._grid](
            q, self._descriptor("k", k), self._descriptor("v", v),
            q_start, prompt_start, prompt_len, out,
            *self._sizes, positive(scale) * LOG2_E, k.stride(1), v.stride(1),
            AT=(_aligned("q", q), _aligned("out", out)), **self._constants,
        )  # fmt: skip

    def _descriptor(self, name: str, tensor: torch.Tensor) -> Any:
        """K or V as [T, columns]: a tile is some tokens of one head."""
        token, head = _aligned(name, tensor)
        columns = (self._groups - 1) * head + tensor.shape[2]
        if columns > token:
            raise _refused(name, tensor, "the heads of a token side by side")
        shape = [tensor.shape[0], columns]
        return TensorDescriptor(tensor, shape, [token, 1], self._tile, self._layout)


def _aligned(name: str, tensor: torch.Tensor) -> tuple[int, ...]:
    """Strides of all axes but the last.

    Raises:
        Unsupported: vectors do not begin at multiples of 16 bytes.
    """
    outer = strides(name, tensor)
    if misaligned(tensor):
        raise _refused(name, tensor, "vectors that begin at multiples of 16 bytes")
    return outer


def _refused(name: str, tensor: torch.Tensor, need: str) -> Unsupported:
    what = f"{name} cannot be copied by hardware"
    hint = f"pass {name}.contiguous(), or kernel='cuda.triton'"
    return refused("cuda.hopper", what, tensor, need, hint)
