"""NVIDIA GPUs through torch and Triton."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from xgr.backends.base import Backend, Event, Graph, Memory, Probe, Stream
from xgr.backends.cuda.kernels import KERNELS
from xgr.backends.host import host_array, slug
from xgr.errors import BackendMissing, InputError, Reason
from xgr.ops.dtype import DType, dtype
from xgr.registry.kernel import Kernel

# below it tensor cores have no bfloat16
LEAST_CAPABILITY = (8, 0)

INSTALL = 'pip install "xgr[cuda]"'


class CudaBackend(Backend):
    """Tensors of torch on the current CUDA device.

    Launches go to the current stream, and `fetch` waits for that stream.

    Args:
        interpret: keep tensors on the CPU and let Triton's interpreter run the kernels, for tests;
            TRITON_INTERPRET=1 must stand in the environment when Triton is imported.

    Raises:
        BackendMissing: `interpret` without that variable, or the reverse.
    """

    name = "cuda"
    token_granule = 64
    token_buckets = 16
    row_granule = 16
    default_lanes = 1
    in_flight = 2
    kv_mode = "ancestors"
    norms_behind = True

    def __init__(self, interpret: bool = False) -> None:
        import torch

        from xgr.backends import tensors
        from xgr.backends.cuda import device, order

        if interpret != device.interpreting():
            raise BackendMissing(
                f"CudaBackend(interpret={interpret}) with TRITON_INTERPRET="
                f"{os.environ.get('TRITON_INTERPRET', '')!r}: set TRITON_INTERPRET=1 to interpret "
                "kernels on the CPU, and unset it to run them on a GPU"
            )
        self._torch, self._host, self._order = torch, tensors, order
        self._interpret = interpret
        self._cores = device.multiprocessors()
        self._device = torch.device("cpu")
        if not interpret:
            self._device = torch.device("cuda", torch.cuda.current_device())
            self._spaces = order.spaces()
        # torch keeps these for the process: sums are in float32, as the ops promise
        matmul = torch.backends.cuda.matmul
        matmul.allow_tf32 = False
        matmul.allow_bf16_reduced_precision_reduction = False
        matmul.allow_fp16_reduced_precision_reduction = False

    @classmethod
    def probe(cls) -> Probe:
        """Whether torch, a CUDA device that is recent enough, and Triton are here."""
        reasons = tuple(_missing())
        if reasons:
            return Probe(False, "no usable CUDA device", reasons)
        import torch
        import triton

        properties = torch.cuda.get_device_properties()
        memory = properties.total_memory / 2**30
        return Probe(
            True,
            f"{properties.name}, {memory:.0f} GiB, {properties.multi_processor_count} SMs, "
            f"torch {torch.__version__}, CUDA {torch.version.cuda}, Triton {triton.__version__}",
        )

    @classmethod
    def kernels(cls) -> Iterable[Kernel]:
        """One or more an op."""
        return KERNELS

    @property
    def arch(self) -> str:
        """`sm_90` and the like."""
        if self._interpret:
            return "interpreter"
        major, minor = self._torch.cuda.get_device_capability(self._device)
        return f"sm_{major}{minor}"

    @property
    def device(self) -> str:
        """`nvidia-h200` and the like."""
        if self._interpret:
            return "interpreter"
        return slug(self._torch.cuda.get_device_name(self._device))

    @property
    def cores(self) -> int:
        """Streaming multiprocessors."""
        return self._cores

    def empty(self, shape: Sequence[int], dtype: DType) -> Any:
        """torch.empty."""
        kind = self._host.TORCH_TYPES[dtype.name]
        return self._host.allocated(
            lambda: self._torch.empty(tuple(shape), dtype=kind, device=self._device)
        )

    def upload(self, host: Any, dtype: DType | None = None) -> Any:
        """A contiguous copy; of lists, int32 where all values are integers, else float32.

        Raises:
            InputError: values that are no numbers, or that the dtype cannot hold.
        """
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

    def writer(self, target: Any) -> Callable[[Any], None]:
        """Through pinned memory that is kept; see `order.Upload`."""
        if self._interpret:
            return super().writer(target)
        kind = self.dtype_of(target)
        upload: Callable[[Any], None] = self._order.Upload(
            target, lambda values: self._host.to_tensor(values, kind)
        )
        return upload

    def fetch(self, array: Any) -> Any:
        """A copy; waits for the current stream."""
        return self._host.to_numpy(array.cpu())

    def fetch_later(self, arrays: Sequence[Any]) -> Callable[[], list[Any]]:
        """Copies behind the current stream's launches, through pinned memory."""
        if self._interpret:
            return super().fetch_later(arrays)
        fetched: Callable[[], list[Any]] = self._order.Download(arrays, self._host.to_numpy)
        return fetched

    def dtype_of(self, array: Any) -> DType:
        """Element type."""
        kind = array.dtype
        return dtype(self._host.NAMES.get(kind, str(kind).removeprefix("torch.")))

    def address(self, array: Any) -> int:
        """Of its first element, as kernels read it from a descriptor."""
        place: int = array.data_ptr()
        return place

    def stream(self, core_group: int = 0) -> Stream:
        """A new stream on all SMs.

        Raises:
            InputError: another core group is asked for.
        """
        if core_group != 0:
            raise InputError(f"core group {core_group}: SMs are not divided, allowed: 0")
        stream: Stream = self._order.HostStream() if self._interpret else self._order.Stream()
        return stream

    def event(self) -> Event:
        """A new event."""
        event: Event = self._order.HostEvent() if self._interpret else self._order.Event()
        return event

    def synchronize(self) -> None:
        """Wait for all streams of the device."""
        if not self._interpret:
            self._torch.cuda.synchronize(self._device)

    def capture(self, launch: Callable[[], None]) -> Graph:
        """A CUDA graph, recorded after its first replay; nothing runs now."""
        graph: Graph = (
            self._order.CallGraph(launch)
            if self._interpret
            else self._order.Graph(launch, self._spaces)
        )
        return graph

    def memory(self) -> Memory:
        """Bytes of this process's tensors, and what more of them could take; peak of the allocator.

        The context and the modules that the driver loads are not counted.
        """
        if self._interpret:
            return Memory(0, os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), 0)
        cuda = self._torch.cuda
        used, kept = cuda.memory_allocated(self._device), cuda.memory_reserved(self._device)
        free = cuda.mem_get_info(self._device)[0] + kept - used
        return Memory(used, free, cuda.max_memory_reserved(self._device))


def _missing() -> Iterable[Reason]:
    try:
        import torch
    except Exception as error:  # a broken installation raises anything
        yield Reason("torch", f"{type(error).__name__}: {error}", "torch with CUDA", INSTALL)
        return
    if torch.version.cuda is None:
        hint = (
            "pip install --force-reinstall torch --index-url https://download.pytorch.org/whl/cu130"
        )
        yield Reason("torch", f"{torch.__version__} without CUDA", "torch with CUDA", hint)
    elif not torch.cuda.is_available():
        yield Reason("device", "none", "a CUDA device", "`nvidia-smi` must list one")
    elif (found := torch.cuda.get_device_capability()) < LEAST_CAPABILITY:
        need = "capability {}.{} or more".format(*LEAST_CAPABILITY)
        yield Reason("capability", "{}.{}".format(*found), need, "an Ampere GPU or a newer one")
    if importlib.util.find_spec("triton") is None:
        yield Reason("triton", "none", "Triton", INSTALL)
    elif os.environ.get("TRITON_INTERPRET", "0") not in ("", "0"):
        got = f"TRITON_INTERPRET={os.environ['TRITON_INTERPRET']}"
        yield Reason("interpreter", got, "kernels that run on the device", "unset TRITON_INTERPRET")
