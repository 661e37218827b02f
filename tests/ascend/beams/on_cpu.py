"""The torch calls of the Ascend backend on CPU tensors: every one of them runs there as well."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from xgr.backends import tensors as host
from xgr.backends.ascend.beams import BEAM_KERNELS
from xgr.backends.ascend.paged import PAGED_KERNELS
from xgr.backends.base import Backend, Event, Graph, Memory, Probe, Stream
from xgr.backends.host import host_array
from xgr.ops.dtype import DType, dtype
from xgr.registry.kernel import Kernel
from xgr.runtime import Runtime

TORCH_CALLS = [k for k in (*BEAM_KERNELS, *PAGED_KERNELS) if k.name == "ascend.torch"]


class OnCpu(Backend):
    """Arrays and torch calls; no streams."""

    name = "npu"

    @classmethod
    def probe(cls) -> Probe:
        return Probe(True, "CPU tensors")

    @classmethod
    def kernels(cls) -> Iterable[Kernel]:
        return TORCH_CALLS

    def empty(self, shape: Sequence[int], dtype: DType) -> Any:
        return torch.empty(tuple(shape), dtype=host.TORCH_TYPES[dtype.name])

    def upload(self, host_values: Any, dtype: DType | None = None) -> Any:
        source = host_array(host_values)
        return host.to_tensor(source, dtype or host.default_dtype(host_values, source)).clone()

    def write(self, target: Any, host_values: Any) -> None:
        target.copy_(host.to_tensor(host_array(host_values), self.dtype_of(target)))

    def fetch(self, array: Any) -> Any:
        return host.to_numpy(array)

    def dtype_of(self, array: Any) -> DType:
        return dtype(host.NAMES[array.dtype])

    def address(self, array: Any) -> int:
        place: int = array.data_ptr()
        return place

    def stream(self, core_group: int = 0) -> Stream:
        raise NotImplementedError

    def event(self) -> Event:
        raise NotImplementedError

    def synchronize(self) -> None:
        return

    def capture(self, launch: Callable[[], None]) -> Graph:
        raise NotImplementedError

    def memory(self) -> Memory:
        return Memory(0, 0, 0)


@functools.cache
def on_cpu() -> Runtime:
    """A runtime of CPU tensors."""
    return Runtime("npu", OnCpu())
