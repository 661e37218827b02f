"""linear_swiglu for sm_90 in Gluon: the launch."""

from __future__ import annotations

from typing import Any

import torch
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

from xgr.backends.cuda.aligned import misaligned, refused
from xgr.backends.cuda.device import multiprocessors
from xgr.backends.cuda.linear_swiglu.hopper_kernel import hopper_gate_kernel
from xgr.backends.cuda.linear_swiglu.tiles import BLOCK, choose
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Choose tiles; there is no workspace."""
    a = problem.sizes
    cores = multiprocessors()
    tiles = choose(problem, cores, context.config)
    grid = (min(tiles.count(problem), cores),)
    element = {"bfloat16": gl.bfloat16, "float16": gl.float16}[problem.dtype]
    block = [BLOCK, BLOCK]
    layout = gl.NVMMASharedLayout.get_default_for(block, element)
    sizes = *tiles.grid(problem), -(-a["h"] // BLOCK), a["h"], a["I"]

    def described(name: str, tensor: torch.Tensor) -> Any:
        if misaligned(tensor):
            need = "rows that begin at multiples of 16 bytes"
            instead = "take kernel='composed' (XGR_KERNEL=linear_swiglu=composed)"
            hint = f"pass a dense {name}, or {instead}"
            what = f"{name} cannot be copied by hardware"
            raise refused("cuda.hopper", what, tensor, need, hint)
        return TensorDescriptor(tensor, list(tensor.shape), [tensor.stride(0), 1], block, layout)

    def linear_swiglu(
        *, x: torch.Tensor, weight: torch.Tensor, out: torch.Tensor, eps: float
    ) -> None:
        if not x.shape[0]:
            return
        hopper_gate_kernel[grid](
            described("x", x), described("weight", weight), described("out", out), *sizes, eps,
            WIDE=tiles.wide, SLIM=tiles.slim, STAGES=tiles.stages, num_warps=4,
        )  # fmt: skip

    return linear_swiglu
