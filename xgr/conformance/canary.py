"""Arrays between canary words, through the backend contract only."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from xgr.ops.array import Array
from xgr.ops.dtype import DType
from xgr.runtime import Runtime

HOST_TYPES: dict[str, Any] = {
    "float64": np.float64,
    "float32": np.float32,
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "int64": np.int64,
    "int32": np.int32,
    "uint32": np.uint32,
}
# elements before and after an array, and at the end of each row of a padded view
GUARD, PAD = 64, 3


class Guarded:
    """An array inside a larger buffer whose other elements are known.

    Attributes:
        view: the array as a kernel gets it; with `padded` its rows lie apart.
    """

    def __init__(
        self, runtime: Runtime, shape: Sequence[int], dtype: DType, padded: bool = False
    ) -> None:
        *outer, last = shape
        self._runtime = runtime
        self._apart = (*outer, last + PAD if padded and outer else last)
        self._inside = slice(GUARD, GUARD + prod(self._apart))
        self._crop = (*(slice(None) for _ in outer), slice(0, last))
        # no two neighbours are equal, so that a copy at the wrong place shows
        pattern = 1000 + np.arange(prod(self._apart) + 2 * GUARD) % 7
        self._pattern: NDArray[Any] = pattern.astype(HOST_TYPES[dtype.name])
        self._buffer = runtime.empty(self._pattern.shape, dtype)
        self.view: Array = self._inner(self._buffer)
        self.fill()

    def fill(self, host: NDArray[Any] | None = None) -> None:
        """Set the canaries, and the array to host values or to canaries as well."""
        content = self._pattern.copy()
        if host is not None:
            self._inner(content)[...] = host
        self._runtime.write(self._buffer, content)

    def fetch(self) -> NDArray[Any]:
        """The array's values."""
        values: NDArray[Any] = self._inner(self._runtime.fetch(self._buffer)).copy()
        return values

    def intact(self) -> bool:
        """Whether every canary is as it was."""
        content: NDArray[Any] = self._runtime.fetch(self._buffer)
        self._inner(content)[...] = self._inner(self._pattern)
        return content.tobytes() == self._pattern.tobytes()

    def _inner(self, buffer: Any) -> Any:
        return buffer[self._inside].reshape(self._apart)[self._crop]


def pattern(shape: Sequence[int], dtype: DType) -> NDArray[Any]:
    """What a guarded array holds before anything is written into it."""
    return (
        (1000 + (GUARD + np.arange(prod(shape))) % 7).astype(HOST_TYPES[dtype.name]).reshape(shape)
    )
