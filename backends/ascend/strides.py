"""Strides that library calls do not take, refused by name."""

from __future__ import annotations

from torch import Tensor

from xgr.errors import Reason, Unsupported


def need_dense(op: str, kernel: str, **tensors: Tensor | None) -> None:
    """Refuse tensors that are not contiguous; None is nothing to refuse.

    Raises:
        Unsupported: with the argument's name and strides.
    """
    for name, tensor in tensors.items():
        if tensor is not None and not tensor.is_contiguous():
            got = f"{name} {list(tensor.shape)} with strides {list(tensor.stride())}"
            reason = Reason("strides", got, "a contiguous array", f"pass a copy of {name}")
            raise Unsupported(f"{op} cannot take {name}", [(kernel, reason)])
