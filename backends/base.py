"""The backend contract: everything that the engine asks of a machine.

A backend is one class in one folder. The engine, the models and the ops above it are written
against this file only; `backends/null` implements it without arithmetic, which proves that.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from xgr.errors import InputError, Reason
from xgr.ops.array import Array
from xgr.ops.dtype import DType
from xgr.ops.spec import Problem
from xgr.registry.kernel import Config, Kernel
from xgr.registry.outline import Outline


@dataclass(frozen=True, slots=True)
class Probe:
    """What a backend found on this machine.

    Attributes:
        available: the backend can run here.
        summary: device names and versions, one line.
        reasons: what is missing, each with the command that mends it as hint.
    """

    available: bool
    summary: str
    reasons: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of device memory.

    Attributes:
        used: held by this process's arrays.
        free: what more of them could take.
        peak: the most that this process has taken from the device so far, held by arrays or not.
    """

    used: int
    free: int
    peak: int


class Stream(Protocol):
    """An ordered queue of launches."""

    def __enter__(self) -> Stream:
        """Make it current."""
        ...

    def __exit__(self, *exc: object) -> None:
        """Restore the stream before."""
        ...

    def synchronize(self) -> None:
        """Wait until everything launched on it is done."""
        ...

    def wait(self, event: Event) -> None:
        """Later launches on it start after the event."""
        ...


class Event(Protocol):
    """A point in a stream."""

    def record(self, stream: Stream) -> None:
        """Mark the stream's present end."""
        ...

    def synchronize(self) -> None:
        """Wait on the host until the point is reached."""
        ...

    def elapsed_ms(self, since: Event) -> float:
        """Milliseconds of device time between two recorded events."""
        ...


class Graph(Protocol):
    """A captured sequence of launches."""

    def replay(self) -> None:
        """Launch it again on the same arrays, with the values they hold now."""
        ...


class Backend(ABC):
    """A machine. Arrays are its native ones."""

    name: ClassVar[str]
    # prompts start in the KV arena at multiples of this many tokens
    arena_granule: ClassVar[int] = 1
    # buckets: a batch's packed tokens, beam rows and requests are rounded up to multiples of these
    token_granule: ClassVar[int] = 32
    row_granule: ClassVar[int] = 8
    request_granule: ClassVar[int] = 1
    # buckets of packed tokens between a number and its double: from there on they are coarser, so
    # that there are fewer programs; None for multiples of token_granule throughout
    token_buckets: ClassVar[int | None] = None
    # lanes that serve side by side unless the caller says otherwise
    default_lanes: ClassVar[int] = 1
    # batches of one lane launched before the first of them is collected
    in_flight: ClassVar[int] = 1
    # how beams keep their K/V: "ancestors" or "reorder", whichever measured faster
    kv_mode: ClassVar[str] = "ancestors"
    # norms of a model's layers come behind the products of their outputs, not before: fewer
    # launches, where one costs as much as what it does
    norms_behind: ClassVar[bool] = False
    # a device model that `planned` knows, as an example; empty where it knows none
    plans: ClassVar[str] = ""

    @classmethod
    @abstractmethod
    def probe(cls) -> Probe:
        """Whether it can run here; never raises."""

    @classmethod
    @abstractmethod
    def kernels(cls) -> Iterable[Kernel]:
        """Its kernel records, on any machine; bodies are imported on bind."""

    @classmethod
    def planned(cls, model: str) -> Backend:
        """A backend that explains choices for a device model that need not be here.

        Raises:
            InputError: the model is not known, or this backend knows none without its device.
        """
        raise InputError(f"{cls.name} plans for the device that is here only, not for {model!r}")

    def facts(self) -> Sequence[str]:
        """What is known of the device, for people: a line each."""
        return (f"{self.device}: {self.cores} cores",)

    def outline(self, kernel: Kernel, problem: Problem, config: Config) -> Outline | None:
        """What a launch of a kernel runs on the device, where the backend can tell."""
        return None

    @property
    def arch(self) -> str:
        """The device's architecture, as kernel records name it."""
        return ""

    @property
    def device(self) -> str:
        """The device's model, as tuned tables name it: lower case, words joined by `-`."""
        return self.name

    @property
    def family(self) -> str:
        """What devices have in common that run the same binaries; a tuned table serves them all."""
        return self.arch or self.name

    @property
    def cores(self) -> int:
        """SMs, AI cores or CPU cores that core groups divide."""
        return 1

    # -- arrays -------------------------------------------------------------------------------

    @abstractmethod
    def empty(self, shape: Sequence[int], dtype: DType) -> Array:
        """Uninitialised array, contiguous.

        Raises:
            MemoryError: the device has no room for it.
        """

    @abstractmethod
    def upload(self, host: Any, dtype: DType | None = None) -> Array:
        """Copy of a host array or nested sequence, cast to `dtype` when given.

        Raises:
            MemoryError: the device has no room for it.
        """

    @abstractmethod
    def write(self, target: Array, host: Any) -> None:
        """Copy a host array or nested sequence into an array or view, cast to its dtype."""

    def writer(self, target: Array) -> Callable[[Any], None]:
        """What writes to the first elements of a one-dimensional array, for one thread at a time.

        Returns:
            A function of host values of the array's dtype. A device may keep memory that it copies
            through; the host does not wait for the copy then.
        """
        return lambda host: self.write(target[: len(host)], host)

    @abstractmethod
    def fetch(self, array: Array) -> Any:
        """NumPy copy of an array; waits for the launches that write it."""

    def fetch_later(self, arrays: Sequence[Array]) -> Callable[[], list[Any]]:
        """NumPy copies of arrays as the launches so far leave them; later launches may write these.

        Returns:
            What waits for the copies and gives them, called at most once and on any thread. A
            device that runs by itself copies behind its launches; others have the values now.
        """
        copies = [self.fetch(array) for array in arrays]
        return lambda: copies

    @abstractmethod
    def dtype_of(self, array: Array) -> DType:
        """Element type of an array."""

    def address(self, array: Array) -> int | None:
        """Where kernels find an array that a descriptor names; None where there is none such."""
        return None

    # -- order and memory ---------------------------------------------------------------------

    @abstractmethod
    def stream(self, core_group: int = 0) -> Stream:
        """A new stream, on a group of cores where the device can divide them (0 = all)."""

    @abstractmethod
    def event(self) -> Event:
        """A new event."""

    @abstractmethod
    def synchronize(self) -> None:
        """Wait for all launches."""

    @abstractmethod
    def capture(self, launch: Callable[[], None]) -> Graph:
        """Record what `launch` does; it is not promised to run during capture."""

    def lanes(self, count: int) -> AbstractContextManager[None]:
        """While entered, `count` threads launch side by side: divide what they would share."""
        return nullcontext()

    @abstractmethod
    def memory(self) -> Memory:
        """Device memory in use and free, and the most that was taken."""
