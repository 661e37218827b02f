"""An array that has a shape and no values: reading one is an error, so nothing can depend on it."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from operator import index
from typing import Any, NoReturn

from xgr.errors import ValueReadError
from xgr.ops.dtype import DType


class NullArray:
    """Shape and dtype; slicing and reshaping give further null arrays."""

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: Sequence[int], dtype: DType) -> None:
        self.shape = tuple(index(n) for n in shape)
        if min(self.shape, default=0) < 0:
            raise ValueError(f"an array cannot have the shape {self.shape}")
        self.dtype = dtype

    def __getitem__(self, key: Any, /) -> NullArray:
        """Basic slicing, checked as NumPy checks it."""
        items = list(key) if isinstance(key, tuple) else [key]
        dots = [at for at, item in enumerate(items) if item is Ellipsis] or [len(items)]
        free = len(self.shape) - sum(item is not None and item is not Ellipsis for item in items)
        if free < 0 or len(dots) > 1:
            raise IndexError(f"index {key} does not fit an array of shape {self.shape}")
        items[dots[0] : dots[0] + 1] = [slice(None)] * free
        sizes, shape = iter(self.shape), []
        for item in items:
            if item is None:
                shape.append(1)
                continue
            size = next(sizes)
            if isinstance(item, slice):
                shape.append(len(range(*item.indices(size))))
            elif isinstance(item, bool) or not hasattr(item, "__index__"):
                raise IndexError(f"index {item!r} is no basic one: integers and slices only")
            elif not -size <= index(item) < size:
                raise IndexError(f"index {item} is out of bounds for axis of size {size}")
        return NullArray(shape, self.dtype)

    def reshape(self, shape: Sequence[int] | int, /) -> NullArray:
        """The same number of elements in another shape; one size may be -1."""
        sizes = [index(n) for n in (shape if isinstance(shape, Sequence) else (shape,))]
        if -1 in sizes:
            rest = prod(n for n in sizes if n != -1)
            sizes[sizes.index(-1)] = prod(self.shape) // rest if rest else -1
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
    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rmatmul__ = _refuse
    __neg__ = __abs__ = __invert__ = __contains__ = __complex__ = _refuse
    tolist = item = tobytes = _refuse
    __hash__ = None  # type: ignore[assignment]  # equality reads values

    def __repr__(self) -> str:
        return f"NullArray(shape={self.shape}, dtype={self.dtype})"
