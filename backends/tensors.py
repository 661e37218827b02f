"""Host values as torch tensors: what is cast, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import torch
from numpy.typing import NDArray

from xgr.backends.host import NUMPY_TYPES, check_cast
from xgr.ops.dtype import DType, dtype, float32, int32

TORCH_TYPES: dict[str, torch.dtype] = {name: getattr(torch, name) for name in NUMPY_TYPES}
NAMES = {kind: name for name, kind in TORCH_TYPES.items()}


# greatest copies to the device that go through pinned memory, in bytes: larger ones are weights,
# which would stay pinned for good
PINNED = 16 << 20


# in errors of torch for want of memory that have no type of their own, in lower case
_FULL = ("out of memory", "allocate memory", "not enough memory", "overflow")


def allocated(make: Callable[[], torch.Tensor]) -> torch.Tensor:
    """What `make` makes.

    Raises:
        MemoryError: there is no memory for it, for which torch has errors of other types.
    """
    try:
        return make()
    except (RuntimeError, TypeError) as error:
        said = str(error).partition("\n")[0]
        if isinstance(error, torch.OutOfMemoryError) or any(one in said.lower() for one in _FULL):
            raise MemoryError(said) from error
        raise


def send(source: torch.Tensor, target: torch.Tensor) -> None:
    """Copy a CPU tensor to the device on the current stream; the host waits for large ones only."""
    if target.device.type in {"cpu", "meta"} or not 0 < source.nbytes <= PINNED:
        target.copy_(source)
    else:
        target.copy_(source.pin_memory(), non_blocking=True)


def default_dtype(host: Any, source: NDArray[Any]) -> DType:
    """An array keeps its dtype; lists of integers are int32, other lists float32."""
    if hasattr(host, "dtype"):
        return dtype(source.dtype.name)
    return int32 if source.dtype.kind in "biu" else float32


def to_tensor(source: NDArray[Any], kind: DType) -> torch.Tensor:
    """Host values as a contiguous CPU tensor of a dtype; shares memory where nothing changes.

    Raises:
        InputError: values that are no numbers, or that the dtype cannot hold.
    """
    wanted = np.dtype(NUMPY_TYPES[kind.name])
    check_cast(source, wanted)
    array = np.require(source, wanted, ["C", "W"])
    if kind.name == "bfloat16":  # torch and NumPy know no bfloat16 of each other
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def to_numpy(tensor: torch.Tensor) -> NDArray[Any]:
    """A CPU tensor's values, in memory of their own."""
    if tensor.dtype == torch.bfloat16:
        bits = tensor.contiguous().view(torch.int16).numpy()
        return np.array(bits, order="C").view(ml_dtypes.bfloat16)
    return np.array(tensor.numpy(), order="C")
