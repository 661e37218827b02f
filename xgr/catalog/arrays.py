"""Arrays that grow block by block, in memory or in a file, with a digest of their content."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

# Hashing and writing go in pieces of this many bytes, so that neither copies a whole array.
PIECE = 1 << 24


class Sinks:
    """Opens sinks by name; files go to `folder`, or to memory when it is None.

    Attributes:
        digests: hexadecimal digest of every finished array.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self.digests: dict[str, str] = {}

    def open(self, name: str, dtype: Any = np.int32) -> ArraySink:
        """A new, empty array."""
        return ArraySink(name, np.dtype(dtype), self)

    def put(self, name: str, array: Array) -> Array:
        """A whole array at once; what comes back is the stored one."""
        if self.folder is None:
            self.digests[name] = digest_of(array)
            return array
        sink = self.open(name, array.dtype)
        sink.append(array)
        return sink.finish()


class ArraySink:
    """One growing one-dimensional array."""

    def __init__(self, name: str, dtype: np.dtype[Any], sinks: Sinks) -> None:
        self.length = 0
        self._name, self._dtype, self._sinks = name, dtype, sinks
        self._hash = hashlib.blake2b(digest_size=16)
        self._parts: list[Array] = []
        self._path = None if sinks.folder is None else array_path(sinks.folder, name)
        self._file: BinaryIO | None = None if self._path is None else self._path.open("wb")

    def append(self, part: Array) -> None:
        """Add values; `part` must not change afterwards."""
        assert part.dtype == self._dtype
        self.length += len(part)
        _update(self._hash, part)
        if self._file is None:
            self._parts.append(part)
            return
        for piece in _pieces(part):
            self._file.write(piece)

    def finish(self) -> Array:
        """The whole array: in memory, or mapped from its file."""
        self._sinks.digests[self._name] = self._hash.hexdigest()
        if self._file is None:
            parts, self._parts = self._parts, []
            return np.concatenate(parts) if parts else np.empty(0, dtype=self._dtype)
        self._file.close()
        assert self._path is not None
        return map_array(self._path, self._dtype, self.length)


def array_path(folder: Path, name: str) -> Path:
    """File of an array inside a saved catalogue."""
    return folder / f"{name}.bin"


def map_array(path: Path, dtype: Any, length: int) -> Array:
    """A file as a read-only array, without reading it; nothing can be mapped of an empty one."""
    if not length:
        return np.empty(0, dtype=dtype)
    # A plain view: every slice of a np.memmap pays for the subclass.
    return np.memmap(path, dtype=dtype, mode="r", shape=(length,)).view(np.ndarray)


def digest_of(array: Array) -> str:
    """Hexadecimal digest of an array's bytes."""
    digest = hashlib.blake2b(digest_size=16)
    _update(digest, array)
    return digest.hexdigest()


def _update(digest: Any, array: Array) -> None:
    for piece in _pieces(array):
        digest.update(piece)


def _pieces(array: Array) -> list[memoryview]:
    data = memoryview(np.ascontiguousarray(array).view(np.uint8).data)
    return [data[at : at + PIECE] for at in range(0, len(data), PIECE)]
