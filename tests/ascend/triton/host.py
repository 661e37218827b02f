"""A backend of CPU tensors for Triton's kernels, interpreted or compiled for this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from xgr.backends.ascend.triton.kernels import TRITON_KERNELS
from xgr.backends.base import Backend, Event, Graph, Memory, Probe, Stream
from xgr.backends.host import host_array
from xgr.ops.dtype import DType, dtype
from xgr.registry.kernel import Kernel
from xgr.runtime import Runtime


class HostTensors(Backend):
    """Tensors of torch on the CPU."""

    name = "ascend"

    def __init__(self) -> None:
        import torch

        from xgr.backends import tensors as host

        torch.set_num_threads(1)  # programs run one after the other
        self._torch, self._host = torch, host

    @classmethod
    def probe(cls) -> Probe:
        return Probe(True, "Triton's kernels for Ascend, on CPU tensors")

    @classmethod
    def kernels(cls) -> Iterable[Kernel]:
        return TRITON_KERNELS

    def empty(self, shape: Sequence[int], dtype: DType) -> Any:
        return self._torch.empty(tuple(shape), dtype=self._host.TORCH_TYPES[dtype.name])

    def upload(self, host: Any, dtype: DType | None = None) -> Any:
        source = host_array(host)
        kind = dtype or self._host.default_dtype(host, source)
        return self._host.to_tensor(source, kind).clone()

    def write(self, target: Any, host: Any) -> None:
        target.copy_(self._host.to_tensor(host_array(host), self.dtype_of(target)))

    def fetch(self, array: Any) -> Any:
        return self._host.to_numpy(array)

    def dtype_of(self, array: Any) -> DType:
        return dtype(self._host.NAMES[array.dtype])

    def address(self, array: Any) -> int:
        return int(array.data_ptr())

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


def on_host() -> Runtime:
    """A runtime of that backend."""
    return Runtime("npu", HostTensors())
