"""Launches of emulated kernels on NumPy arrays, each of which is held to its bounds."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.ascend.emulator.built import kernels

Array = NDArray[Any]
Role = str  # "in", "out" (undefined before), "inout"


class Hazard(AssertionError):
    """The emulator stopped a kernel."""


@dataclass(frozen=True)
class Order:
    """Order of the cores: shuffled by `seed`, or the seed-th of all orders."""

    seed: int = 0
    exact: bool = False


class Launch:
    """Arguments of one launch, collected in the order of the kernel's parameters."""

    def __init__(self) -> None:
        self._arguments: list[Any] = []
        self._buffers: list[tuple[str, Array, Role]] = []

    def array(self, name: str, value: Array | None, role: Role = "in") -> Launch:
        """A buffer, or nothing."""
        if value is None:
            self._arguments.append(ctypes.c_void_p(None))
            return self
        self.known(name, value, role)
        self._arguments.append(ctypes.c_void_p(value.ctypes.data))
        return self

    def known(self, name: str, value: Array, role: Role = "in") -> Launch:
        """A buffer that the kernel finds through another."""
        self._buffers.append((name, value, role))
        return self

    def integers(self, *values: int, bits: int = 64) -> Launch:
        """Scalars."""
        kind = ctypes.c_int64 if bits == 64 else ctypes.c_int32
        self._arguments += [kind(value) for value in values]
        return self

    def run(self, kernel: str, cores: int, order: Order | None = None, fault: str = "") -> None:
        """Launch.

        Raises:
            Hazard: with the emulator's message.
        """
        self._make_known()
        self._start(kernel, cores, order or Order(), fault, self._arguments)

    def run_phases(
        self, kernel: str, phases: int, cores: int, order: Order | None = None, fault: str = ""
    ) -> None:
        """Launch once for each phase, whose number is the last argument.

        Raises:
            Hazard: with the emulator's message.
        """
        self._make_known()
        given = order or Order()
        for phase in range(phases):
            # digits of the number in the base of all orders: one for each phase
            rest = given.seed // math.factorial(cores) ** phase
            here = Order(rest, exact=True) if given.exact else Order(given.seed + phase)
            arguments = [*self._arguments, ctypes.c_int32(phase)]
            self._start(kernel, cores, here, fault, arguments)

    def _make_known(self) -> None:
        library = kernels()
        library.emulated_forget()
        for name, value, role in self._buffers:
            start, bytes_ = span(value)
            library.emulated_buffer(
                name.encode(),
                ctypes.c_void_p(start),
                ctypes.c_uint64(bytes_),
                int(role != "in"),
                int(role == "out"),
            )

    def _start(
        self, kernel: str, cores: int, order: Order, fault: str, arguments: Sequence[Any]
    ) -> None:
        library = kernels()
        library.emulated_order(ctypes.c_uint64(order.seed), int(order.exact))
        library.emulated_fault(fault.encode())
        try:
            launch = getattr(library, f"aclrtlaunch_xgr_{kernel}")
            code = launch(ctypes.c_uint32(cores), None, *arguments)
        finally:
            library.emulated_fault(b"")
        if code:
            raise Hazard(library.emulated_error().decode())


def span(value: Array) -> tuple[int, int]:
    """First address and number of bytes from the first to the last element of a view."""
    if value.size == 0:
        return value.ctypes.data, 0
    pairs = zip(value.shape, value.strides, strict=True)
    last = sum((size - 1) * stride for size, stride in pairs)
    return value.ctypes.data, last + value.itemsize


def tiling(op: str, *sizes: int) -> Array:
    """The words of a tiling.

    Raises:
        ValueError: with the message of the host function.
    """
    words = np.zeros(32, np.int64)
    message = ctypes.create_string_buffer(512)
    given = np.asarray(sizes, np.int64)
    code = getattr(kernels(), f"tiling_{op}")(
        given.ctypes.data_as(ctypes.c_void_p),
        words.ctypes.data_as(ctypes.c_void_p),
        message,
        ctypes.c_size_t(len(message)),
    )
    if code:
        raise ValueError(message.value.decode())
    return words


def unified_buffer(op: str, words: Array, *rest: int) -> int:
    """Bytes that a kernel reserves with a tiling, as the host computes them."""
    count = getattr(kernels(), f"ub_{op}")
    count.restype = ctypes.c_int64
    pointer = words.ctypes.data_as(ctypes.c_void_p)
    return int(count(pointer, *(ctypes.c_int64(value) for value in rest)))


def reserved() -> int:
    """Bytes of the unified buffer that the last launch reserved on a core."""
    count = kernels().emulated_ub
    count.restype = ctypes.c_int64
    return int(count())


def elements(value: Array, axes: Sequence[int]) -> list[int]:
    """Strides of a view, in elements."""
    return [value.strides[axis] // value.itemsize for axis in axes]
