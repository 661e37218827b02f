"""Huawei Ascend NPUs through torch_npu."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from xgr.backends.ascend import STANDING, _compat, soc
from xgr.backends.ascend.kernels import KERNELS
from xgr.backends.ascend.outline import outline
from xgr.backends.base import Backend, Event, Graph, Memory, Probe, Stream
from xgr.backends.host import host_array, slug
from xgr.errors import BackendMissing, InputError, Reason
from xgr.ops.dtype import DType, dtype
from xgr.ops.spec import Problem
from xgr.registry.kernel import Config, Kernel
from xgr.registry.outline import Outline

# work of the shared and the unshared stage where nothing is known of a batch: groups 1 and 2
_WORK = 3, 1


class AscendBackend(Backend):
    """Tensors of torch_npu on the current device; or a chip to plan for, without a device.

    Launches go to the current stream, and `fetch` waits for that stream.

    Args:
        chip: plan for this chip, as in "Ascend910B1": there are no arrays, and torch is not
            imported. None for the current device.

    Raises:
        BackendMissing: torch_npu cannot be imported.
        InputError: the chip is not in the table.
    """

    name = "ascend"
    arena_granule = 128
    token_granule = 64
    token_buckets = 16
    row_granule = 16
    in_flight = 2
    # unmeasured: one launch reorders all layers, where ancestors are gathered layer by layer
    kv_mode = "reorder"
    plans = "Ascend910B3"

    def __init__(self, chip: str | None = None) -> None:
        self._planned = chip is not None
        if chip is not None:
            self.soc = soc.spec(chip)
            return
        npu = _compat.npu()
        import torch

        from xgr.backends import tensors
        from xgr.backends.ascend import device, graph, streams

        self._torch, self._npu, self._host, self._streams = torch, npu, tensors, streams
        self._graph = graph
        self.soc = device.current()
        self._device = torch.device("npu", npu.current_device())
        self._spaces = graph.spaces()
        # torch_npu keeps these for the process: sums are in float32, as the ops promise
        npu.matmul.allow_hf32 = False

    @classmethod
    def planned(cls, model: str) -> AscendBackend:
        """A backend that explains choices for a chip of the table."""
        return cls(model)

    @classmethod
    def probe(cls) -> Probe:
        """Whether torch_npu, CANN and an NPU are here; never raises."""
        try:
            reasons = tuple(_compat.missing())
            if reasons:
                return Probe(False, f"no usable Ascend NPU ({STANDING})", reasons)
            npu = _compat.npu()
            name, (_, total) = npu.get_device_name(), npu.mem_get_info()
            summary = f"{name}, {total / 2**30:.0f} GiB, {_compat.versions()} ({STANDING})"
            return Probe(True, summary)
        except Exception as error:  # drivers and libraries raise anything
            got = f"{type(error).__name__}: {error}"
            reason = Reason("device", got, "an Ascend NPU that answers", _compat.CANN)
            return Probe(False, f"no usable Ascend NPU ({STANDING})", (reason,))

    @classmethod
    def kernels(cls) -> Iterable[Kernel]:
        """One or more an op."""
        return KERNELS

    def facts(self) -> Sequence[str]:
        """Cores and memory of the chip, and where the figures come from."""
        return self.soc.facts()

    def outline(self, kernel: Kernel, problem: Problem, config: Config) -> Outline | None:
        """What a launch runs, on which cores, with what memory on the chip."""
        return outline(kernel, problem, config, self.soc)

    @property
    def arch(self) -> str:
        """The NPU architecture that binaries are built for: `dav_2201` and the like."""
        return f"dav_{self.soc.arch}"

    @property
    def device(self) -> str:
        """`ascend910b1` and the like."""
        return slug(self.soc.name.replace("_", "-"))

    @property
    def cores(self) -> int:
        """AI cores with a matrix unit; core groups divide them, with the vector cores beside."""
        return self.soc.cube_cores

    def empty(self, shape: Sequence[int], dtype: DType) -> Any:
        """torch.empty."""
        self._need_device()
        kind = self._host.TORCH_TYPES[dtype.name]
        return self._host.allocated(
            lambda: self._torch.empty(tuple(shape), dtype=kind, device=self._device)
        )

    def upload(self, host: Any, dtype: DType | None = None) -> Any:
        """A contiguous copy; of lists, int32 where all values are integers, else float32.

        Raises:
            InputError: values that are no numbers, or that the dtype cannot hold.
        """
        self._need_device()
        source = host_array(host)
        kind = dtype or self._host.default_dtype(host, source)
        tensor = self._host.to_tensor(source, kind)
        return self._host.allocated(lambda: tensor.to(self._device, copy=True))

    def write(self, target: Any, host: Any) -> None:
        """Element-wise copy on the current stream; the host does not wait for small ones.

        Raises:
            InputError: the shapes differ, or the target's dtype cannot hold the values.
        """
        source = host_array(host)
        if source.shape != tuple(target.shape):
            raise InputError(f"cannot write shape {source.shape} into {tuple(target.shape)}")
        self._host.send(self._host.to_tensor(source, self.dtype_of(target)), target)

    def fetch(self, array: Any) -> Any:
        """A copy; waits for the current stream."""
        return self._host.to_numpy(array.cpu())

    def fetch_later(self, arrays: Sequence[Any]) -> Callable[[], list[Any]]:
        """Copies behind the current stream's launches, through pinned memory."""
        fetched: Callable[[], list[Any]] = self._streams.Download(arrays, self._host.to_numpy)
        return fetched

    def dtype_of(self, array: Any) -> DType:
        """Element type."""
        self._need_device()
        kind = array.dtype
        return dtype(self._host.NAMES.get(kind, str(kind).removeprefix("torch.")))

    def address(self, array: Any) -> int:
        """Of its first element, as kernels read it from a descriptor."""
        place: int = array.data_ptr()
        return place

    def stream(self, core_group: int = 0) -> Stream:
        """A new stream: 0 on all cores, 1 on the group of the shared stage, 2 on the other's.

        Raises:
            InputError: another core group is asked for.
        """
        self._need_device()
        if core_group not in (0, 1, 2):
            raise InputError(f"core group {core_group}, allowed: 0 (all), 1 (shared), 2 (unshared)")
        groups = (None, *soc.partition(self.soc, *_WORK))
        stream: Stream = self._streams.Stream(groups[core_group])
        return stream

    def event(self) -> Event:
        """A new event."""
        self._need_device()
        event: Event = self._streams.Event()
        return event

    def synchronize(self) -> None:
        """Wait for all streams of the device."""
        self._need_device()
        self._npu.synchronize(self._device)

    def capture(self, launch: Callable[[], None]) -> Graph:
        """A graph, recorded after its first replay; nothing runs now."""
        self._need_device()
        graph: Graph = self._graph.Graph(launch, self._spaces)
        return graph

    def memory(self) -> Memory:
        """Bytes of this process's tensors, and what more of them could take; peak of the allocator.

        What the runtime and the libraries load is not counted.
        """
        self._need_device()
        npu = self._npu
        used, kept = npu.memory_allocated(self._device), npu.memory_reserved(self._device)
        free = npu.mem_get_info(self._device)[0] + kept - used
        return Memory(used, free, npu.max_memory_reserved(self._device))

    def _need_device(self) -> None:
        if self._planned:
            raise BackendMissing(
                f"{self.soc.name} is planned for, not present: there are choices and figures, and "
                "no arrays; use runtime('npu') on a machine that has one"
            )
