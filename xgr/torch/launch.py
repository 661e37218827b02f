"""A call of torch on the runtime of its device.

A runtime keeps bound ops and their workspaces, which two launches at once must not share: every
thread has a runtime of its own, and on a GPU every stream too.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import ml_dtypes
import torch
from numpy.typing import NDArray

from xgr.errors import InputError
from xgr.ops.dtype import int32
from xgr.ops.spec import OpSpec, Values
from xgr.runtime import Runtime, runtime
from xgr.torch.structures import structures, tensors_of

Launch = Callable[[OpSpec, Values], None]


class _Lanes(threading.local):
    def __init__(self) -> None:
        self.of: dict[tuple[str, int], Runtime] = {}

    def get(self, device: str, stream: int = 0) -> Runtime:
        key = (device, stream)
        if key not in self.of:
            self.of[key] = runtime(device).lane()
        return self.of[key]


_LANES = _Lanes()


def on_cpu(declared: OpSpec, values: Values) -> None:
    """Compute through NumPy views of the tensors."""
    arguments = structures(declared, values, _array)
    getattr(_LANES.get("cpu"), declared.name)(**arguments)


def on_cuda(declared: OpSpec, values: Values) -> None:
    """Launch on the current stream of the runtime's device.

    Raises:
        InputError: a tensor lies elsewhere.
    """
    device = _cuda_device()
    for name, tensor in tensors_of(declared, values):
        if tensor.device != device:
            raise InputError(
                f"{declared.name}: {name} is on {tensor.device}, this process runs xgr on {device}:"
                " move it there; another GPU is chosen with torch.cuda.set_device before the first"
                " call"
            )
    # torch's own operators, which some kernels call, would record a gradient or refuse to
    arguments = structures(declared, values, torch.Tensor.detach)
    with torch.cuda.device(device):
        if torch.cuda.is_current_stream_capturing():
            # workspaces of the graph's own memory, as torch's operators have in a capture
            lane = runtime("cuda").lane()
        else:
            lane = _LANES.get("cuda", torch.cuda.current_stream().cuda_stream)
        getattr(lane, declared.name)(**arguments)


# by dispatch key
LAUNCHES: Mapping[str, Launch] = {"CPU": on_cpu, "CUDA": on_cuda}


def _cuda_device() -> torch.device:
    """The device of the `cuda` runtime: the current one when it is first asked for."""
    device: torch.device = runtime("cuda").empty((0,), int32).device  # type: ignore[attr-defined]
    return device


def _array(tensor: torch.Tensor) -> NDArray[Any]:
    """The same memory as NumPy sees it."""
    tensor = tensor.detach()
    if tensor.dtype == torch.bfloat16:  # torch and NumPy know no bfloat16 of each other
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    array: NDArray[Any] = tensor.numpy()
    return array
