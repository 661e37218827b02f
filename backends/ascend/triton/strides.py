"""Strides that kernels rely on, refused by name where an argument has others."""

from __future__ import annotations

from typing import Any

from xgr.errors import InputError


def dense(name: str, tensor: Any) -> tuple[int, ...]:
    """Strides of all axes but the last, whose elements lie side by side.

    Raises:
        InputError: with the argument's name and strides.
    """
    *outer, last = tensor.stride()
    if last != 1 and tensor.shape[-1] > 1:
        raise InputError(
            f"{name} has strides {tuple(tensor.stride())}, need 1 on the last axis: "
            f"pass {name}.contiguous()"
        )
    return tuple(outer)
