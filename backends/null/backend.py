"""The backend without a machine: every op checks its shapes and does nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any, NoReturn

from xgr.backends.base import Backend, Memory, Probe
from xgr.backends.null.array import NullArray
from xgr.errors import InputError, ValueReadError
from xgr.ops import spec, specs
from xgr.ops.dtype import DType, dtype, float32, int32
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Kernel, Launcher


class _Launch:
    """Checks the arguments of a launch against the declaration and counts it."""

    def __init__(self, problem: Problem) -> None:
        self._spec = spec(problem.op)
        self._problem = problem
        self.launches = 0

    def __call__(self, **arguments: Any) -> None:
        declared = self._spec
        posed = declared.problem(arguments, self._problem.dtype)
        if posed != self._problem:
            raise InputError(f"bound for {self._problem}, launched with {posed}")
        for arg, array in declared.tensors(arguments):
            if not isinstance(array, NullArray):
                kind = type(array).__name__
                raise InputError(f"{declared.name}: {arg.name} is of type {kind}, need a NullArray")
            want = self._problem.dtype if arg.dtype == "model" else arg.dtype
            if array.dtype.name != want:
                raise InputError(f"{declared.name}: {arg.name} is {array.dtype}, need {want}")
        self.launches += 1


def build(problem: Problem, context: Context) -> Launcher:
    """The one kernel body of this backend."""
    return _Launch(problem)


class _Graph:
    def __init__(self, launch: Callable[[], None]) -> None:
        self._launch = launch

    def replay(self) -> None:
        self._launch()


class _Order:
    """Stream and event of a machine where nothing takes time."""

    def __enter__(self) -> _Order:
        return self

    def __exit__(self, *exc: object) -> None:
        return

    def synchronize(self) -> None:
        return

    def wait(self, event: Any) -> None:
        return

    def record(self, stream: Any) -> None:
        return

    def elapsed_ms(self, since: Any) -> float:
        return 0.0


class NullBackend(Backend):
    """Shapes only."""

    name = "null"

    def __init__(self) -> None:
        self._bytes = 0

    @classmethod
    def probe(cls) -> Probe:
        """Always available."""
        return Probe(True, "shapes only, no arithmetic")

    @classmethod
    def kernels(cls) -> Iterable[Kernel]:
        """One kernel an op."""
        return [Kernel(op, "null.shapes", build) for op in specs()]

    def empty(self, shape: Sequence[int], dtype: DType) -> NullArray:
        """An array without values; its size is counted as memory in use."""
        array = NullArray(shape, dtype)
        self._bytes += prod(array.shape) * dtype.itemsize
        return array

    def upload(self, host: Any, dtype: DType | None = None) -> NullArray:
        """The shape of a host array or nested sequence."""
        return self.empty(_shape(host), dtype or _dtype(host))

    def write(self, target: Any, host: Any) -> None:
        """Checks that the shapes agree."""
        if not isinstance(target, NullArray):
            raise InputError(f"cannot write into a {type(target).__name__}, need a NullArray")
        if _shape(host) != target.shape:
            raise InputError(f"cannot write shape {_shape(host)} into {target!r}")

    def fetch(self, array: Any) -> NoReturn:
        """There is nothing to fetch.

        Raises:
            ValueReadError: always.
        """
        raise ValueReadError(f"{array!r} has no values to fetch")

    def fetch_later(self, arrays: Sequence[Any]) -> Callable[[], list[Any]]:
        """What is refused when it is waited for, as nothing is read before."""
        return lambda: [self.fetch(array) for array in arrays]

    def dtype_of(self, array: Any) -> DType:
        """Element type."""
        found: DType = array.dtype
        return found

    def stream(self, core_group: int = 0) -> _Order:
        """A stream on which nothing happens."""
        return _Order()

    def event(self) -> _Order:
        """An event that has happened."""
        return _Order()

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def capture(self, launch: Callable[[], None]) -> _Graph:
        """Launches are checked once now, and at every replay."""
        launch()
        return _Graph(launch)

    def memory(self) -> Memory:
        """Bytes that were asked for, freed ones included."""
        return Memory(self._bytes, 0, self._bytes)


def _shape(host: Any) -> tuple[int, ...]:
    if isinstance(host, NullArray):
        raise ValueReadError(f"{host!r} has no values to copy from")
    shape = getattr(host, "shape", None)
    if shape is not None:
        return tuple(shape)
    if isinstance(host, int | float):
        return ()
    if isinstance(host, str) or not isinstance(host, Sequence):
        kind = type(host).__name__
        raise InputError(f"a host value is of type {kind}, need numbers, their lists or arrays")
    inner = {_shape(item) for item in host}
    if len(inner) > 1:
        raise InputError(f"ragged host sequence: rows of shapes {sorted(inner)}")
    return (len(host), *(inner.pop() if inner else ()))


def _dtype(host: Any) -> DType:
    """As on every backend: an array keeps its dtype, lists of integers are int32, else float32."""
    kind = getattr(host, "dtype", None)
    if kind is not None:
        return dtype(str(kind))
    kinds = {type(leaf) for leaf in _leaves(host)}
    return int32 if kinds and all(hasattr(k, "__index__") for k in kinds) else float32


def _leaves(host: Any) -> Iterable[Any]:
    if not isinstance(host, Sequence):
        yield host
        return
    for item in host:
        yield from _leaves(item)
