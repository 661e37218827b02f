"""The CPU through NumPy."""

from __future__ import annotations

import functools
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import threadpoolctl
from numpy.typing import NDArray

from xgr.backends.base import Backend, Memory, Probe
from xgr.backends.cpu_ref.kernels import KERNELS
from xgr.backends.host import NUMPY_TYPES, check_cast, host_array, slug
from xgr.errors import InputError
from xgr.ops.dtype import DType, dtype, float32, int32
from xgr.registry.kernel import Kernel


class _Graph:
    def __init__(self, launch: Callable[[], None]) -> None:
        self._launch = launch

    def replay(self) -> None:
        self._launch()


class _Stream:
    """The calling thread: a launch is done when it returns."""

    def __enter__(self) -> _Stream:
        return self

    def __exit__(self, *exc: object) -> None:
        return

    def synchronize(self) -> None:
        return

    def wait(self, event: Any) -> None:
        return


class _Event:
    def __init__(self) -> None:
        self._at = 0.0

    def record(self, stream: Any) -> None:
        self._at = time.perf_counter()

    def synchronize(self) -> None:
        return

    def elapsed_ms(self, since: Any) -> float:
        elapsed: float = self._at - since._at
        return elapsed * 1e3


class CpuBackend(Backend):
    """NumPy over BLAS. Launches run where they are called; graphs are the calls themselves."""

    name = "cpu_ref"
    # NumPy's elementwise work runs on one core: lanes use the others
    default_lanes = os.cpu_count() or 1

    @classmethod
    def probe(cls) -> Probe:
        """Always available: NumPy is a dependency."""
        return Probe(True, f"NumPy {np.__version__}, {os.cpu_count()} cores")

    @classmethod
    def kernels(cls) -> Iterable[Kernel]:
        """Up to two an op: the definition and a fast one."""
        return KERNELS

    @property
    def device(self) -> str:
        """The processor's model, "cpu" where the system does not tell."""
        return _model()

    @property
    def cores(self) -> int:
        """CPU cores of the machine."""
        return os.cpu_count() or 1

    def empty(self, shape: Sequence[int], dtype: DType) -> NDArray[Any]:
        """np.empty."""
        try:
            return np.empty(tuple(shape), NUMPY_TYPES[dtype.name])
        except (OverflowError, ValueError) as error:  # more than can be counted
            if min(shape, default=0) < 0:
                raise
            raise MemoryError(str(error)) from error

    def upload(self, host: Any, dtype: DType | None = None) -> NDArray[Any]:
        """A contiguous copy; of lists, int32 where all values are integers, else float32.

        Raises:
            InputError: values that are no numbers, or that the dtype cannot hold.
        """
        source = host_array(host)
        if dtype is None:
            integers = source.dtype.kind in "biu"
            listed = int32 if integers else float32
            dtype = self.dtype_of(host) if hasattr(host, "dtype") else listed
        wanted = np.dtype(NUMPY_TYPES[dtype.name])
        check_cast(source, wanted)
        return np.array(source, wanted, order="C")

    def write(self, target: Any, host: Any) -> None:
        """Element-wise copy.

        Raises:
            InputError: the shapes differ, or the target's dtype cannot hold the values.
        """
        source = host_array(host)
        if source.shape != target.shape:
            raise InputError(f"cannot write shape {source.shape} into {target.shape}")
        check_cast(source, target.dtype)
        target[...] = source

    def fetch(self, array: Any) -> NDArray[Any]:
        """A copy."""
        return np.array(array)

    def dtype_of(self, array: Any) -> DType:
        """Element type."""
        return dtype(array.dtype.name)

    def stream(self, core_group: int = 0) -> _Stream:
        """The calling thread."""
        return _Stream()

    def event(self) -> _Event:
        """A wall-clock event."""
        return _Event()

    def synchronize(self) -> None:
        """Launches are done when they return."""

    def capture(self, launch: Callable[[], None]) -> _Graph:
        """The launches themselves; nothing runs now."""
        return _Graph(launch)

    @contextmanager
    def lanes(self, count: int) -> Iterator[None]:
        """Divides the BLAS threads: lanes that each start all of them wait for one another."""
        own = object()
        try:
            _BLAS.enter(own, count, self.cores)
            yield
        finally:
            _BLAS.leave(own, self.cores)

    def memory(self) -> Memory:
        """Bytes of the process's resident set, its peak too, and of the machine's free memory."""
        with open("/proc/self/status", encoding="utf-8") as status:
            lines = (line.split(":") for line in status if line.startswith(("VmRSS", "VmHWM")))
            kib = {name: int(value.split()[0]) for name, value in lines}
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return Memory(kib["VmRSS"] << 10, free, kib["VmHWM"] << 10)


@functools.cache
def _model() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            named = [line.partition(":")[2] for line in info if line.startswith("model name")]
    except OSError:
        named = []
    return slug(named[0]) if named else "cpu"


class _BlasThreads:
    """Threads of the process's BLAS libraries while lanes run.

    The numbers belong to the process, and the lanes of several recommenders begin and end in any
    order: the first to enter notes what was set, whoever stays shares the cores, and the last to
    leave puts back what was noted.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lanes: dict[object, int] = {}
        self._before: dict[str, int] = {}

    def enter(self, owner: object, count: int, cores: int) -> None:
        with self._lock:
            self._lanes[owner] = count
            self._divide(cores)

    def leave(self, owner: object, cores: int) -> None:
        """Harmless where an interrupt kept the owner from entering."""
        with self._lock:
            self._lanes.pop(owner, None)
            self._divide(cores)

    def after_fork(self) -> None:
        """The lanes that ran are the parent's."""
        self._lock = threading.Lock()
        if self._lanes:
            self._lanes.clear()
            self._divide(1)

    def _divide(self, cores: int) -> None:
        lanes = sum(self._lanes.values())
        found = threadpoolctl.ThreadpoolController().select(user_api="blas").lib_controllers
        for library in found:
            before = self._before.setdefault(library.filepath, library.num_threads)
            # the public setter obeys one thread only, and the last to leave may be another
            put = getattr(library, "_real_set_num_threads", library.set_num_threads)
            put(max(1, cores // lanes) if lanes else before)
        if not lanes:
            self._before.clear()


_BLAS = _BlasThreads()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_BLAS.after_fork)
