"""What kernels that move 16 bytes at a time want of 16-bit elements, and how they refuse others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xgr.errors import Reason, Unsupported
from xgr.ops.spec import Problem

# elements of 16 bytes
ALIGNED = 8


def uneven(problem: Problem, *axes: str) -> Iterator[Reason]:
    """Reasons against sizes of which vectors do not end at multiples of 16 bytes."""
    for axis in axes:
        if problem.sizes[axis] % ALIGNED:
            yield Reason("limit", f"{axis}={problem.sizes[axis]}", f"a multiple of {ALIGNED}")


def misaligned(tensor: Any) -> bool:
    """Whether vectors along the last axis are not dense or begin elsewhere than 16 bytes apart."""
    *outer, last = tensor.stride()
    return last != 1 or tensor.data_ptr() % 16 != 0 or any(x % ALIGNED for x in outer)


def refused(kernel: str, what: str, tensor: Any, need: str, hint: str) -> Unsupported:
    """The error of a tensor that a kernel does not take; `what` says what cannot be done to it."""
    got = f"{list(tensor.stride())} from {tensor.data_ptr() % 16} bytes on"
    return Unsupported(what, [(kernel, Reason("strides", got, need, hint))])
