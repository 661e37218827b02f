"""Workspaces of the fast kernels: float32, grown once, reused by every launch of a thread.

Fresh pages cost more than the arithmetic on them, so buffers stay. They belong to the thread and
not to a bound op: a launch leaves nothing in them that a later one reads, two threads never meet
in one, and memory is that of the largest launch, however many problems are bound.
"""

from __future__ import annotations

import math
import threading

import numpy as np

from xgr.backends.cpu_ref.arrays import Array, Floats


class Scratch(threading.local):
    """Named float32 buffers of the calling thread."""

    def __init__(self) -> None:
        self._buffers: dict[str, Floats] = {}

    def __call__(self, name: str, shape: tuple[int, ...]) -> Floats:
        """A buffer of a shape; what it holds is undefined."""
        size = math.prod(shape)
        buffer = self._buffers.get(name)
        if buffer is None or buffer.size < size:
            # half as much again: shapes that creep up would else bring fresh pages every time
            room = size if buffer is None else max(size, buffer.size * 3 // 2)
            buffer = self._buffers[name] = np.empty(room, np.float32)
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


scratch = Scratch()


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
