"""Workspaces of the fast kernels: float32, grown once, reused by every launch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float32]


class Scratch:
    """Named float32 buffers. Fresh pages cost more than the arithmetic on them, so they stay."""

    def __init__(self) -> None:
        self._buffers: dict[str, Floats] = {}

    def __call__(self, name: str, shape: tuple[int, ...]) -> Floats:
        """A buffer of a shape; what it holds is undefined."""
        size = math.prod(shape)
        buffer = self._buffers.get(name)
        if buffer is None or buffer.size < size:
            buffer = self._buffers[name] = np.empty(size, np.float32)
        return buffer[:size].reshape(shape)

    def float32(self, name: str, source: Array) -> Floats:
        """The source itself where it is float32, else a converted copy in a buffer."""
        if source.dtype == np.float32:
            return source
        copy = self(name, source.shape)
        np.copyto(copy, source)
        return copy

    def target(self, name: str, out: Array) -> Floats:
        """Where to compute a float32 result: the output itself where it is float32."""
        return out if out.dtype == np.float32 else self(name, out.shape)


def scaled(source: Array, factor: float | Array, out: Array) -> None:
    """Set out to source * factor in float32; a float32 source is spoilt when out is not."""
    if out.dtype == np.float32:
        if source.dtype == np.float32:
            np.multiply(source, factor, out=out)
        else:
            np.copyto(out, source)
            out *= factor
    else:
        source *= factor
        out[...] = source
