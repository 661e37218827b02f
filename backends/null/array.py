"""An array that has a shape and no values: reading one is an error, so nothing can depend on it."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NoReturn

from xgr.errors import ValueReadError
from xgr.ops.dtype import DType


class NullArray:
    """Shape and dtype; slicing and reshaping give further null arrays."""

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: Sequence[int], dtype: DType) -> None:
        self.shape = tuple(int(n) for n in shape)
        self.dtype = dtype

    def __getitem__(self, index: Any, /) -> NullArray:
        """Basic slicing, checked as NumPy checks it."""
        items = index if isinstance(index, tuple) else (index,)
        if len(items) > len(self.shape):
            raise IndexError(f"{len(items)} indices for an array of shape {self.shape}")
        shape = []
        for size, item in zip(self.shape, items, strict=False):
            if isinstance(item, slice):
                shape.append(len(range(*item.indices(size))))
            elif not -size <= item < size:
                raise IndexError(f"index {item} is out of bounds for axis of size {size}")
        return NullArray(shape + list(self.shape[len(items) :]), self.dtype)

    def reshape(self, shape: Sequence[int], /) -> NullArray:
        """The same number of elements in another shape; one size may be -1."""
        sizes = list(shape)
        if -1 in sizes:
            rest = prod(n for n in sizes if n != -1)
            sizes[sizes.index(-1)] = prod(self.shape) // rest if rest else 0
        if prod(sizes) != prod(self.shape):
            raise ValueError(f"cannot reshape {self.shape} to {tuple(sizes)}")
        return NullArray(sizes, self.dtype)

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise ValueReadError(
            f"a value of a null array of shape {self.shape} was read: on the null backend arrays "
            "have no values, so the code that reads one would wait for the device elsewhere"
        )

    __array__ = __bool__ = __float__ = __int__ = __index__ = __iter__ = __len__ = _refuse
    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __add__ = __sub__ = __mul__ = __truediv__ = __matmul__ = _refuse
    __hash__ = None  # type: ignore[assignment]  # equality reads values

    def __repr__(self) -> str:
        return f"NullArray(shape={self.shape}, dtype={self.dtype})"
