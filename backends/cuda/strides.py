"""Strides that kernels rely on, refused by name where an argument has others."""

from __future__ import annotations

from typing import Any

from xgr.errors import InputError


def need_dense_rows(op: str, **tensors: Any) -> None:
    """Refuse tensors whose last axis is not contiguous; None is nothing to refuse.

    Raises:
        InputError: with the argument's name and strides.
    """
    for name, tensor in tensors.items():
        if tensor is not None and tensor.stride(-1) != 1 and tensor.shape[-1] > 1:
            raise InputError(
                f"{op}: {name} has strides {tuple(tensor.stride())}, need 1 on the last axis: "
                "pass a contiguous copy"
            )
