"""Host values as torch tensors: what is cast, what is refused."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import torch
from numpy.typing import NDArray

from xgr.errors import InputError
from xgr.ops.dtype import DType, dtype, float32, int32

NUMPY_TYPES: dict[str, Any] = {
    "float64": np.float64,
    "float32": np.float32,
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "int64": np.int64,
    "int32": np.int32,
    "uint32": np.uint32,
}
TORCH_TYPES: dict[str, torch.dtype] = {name: getattr(torch, name) for name in NUMPY_TYPES}
NAMES = {kind: name for name, kind in TORCH_TYPES.items()}


def host_array(host: Any) -> NDArray[Any]:
    """A host array or nested sequence as NumPy has it.

    Raises:
        InputError: the sequence is ragged.
    """
    try:
        return np.asarray(host)
    except ValueError as error:
        raise InputError(f"ragged host sequence: {error}") from None


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
    _check_cast(source, wanted)
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


def _check_cast(source: NDArray[Any], target: np.dtype[Any]) -> None:
    """Refuse casts that NumPy does without a word: to another kind, or with integers wrapped."""
    if not source.size or source.dtype == target:
        return
    integers = source.dtype.kind in "biu"
    if target.kind not in "iu":
        if not integers and source.dtype.kind != "f" and source.dtype.name not in NUMPY_TYPES:
            raise InputError(f"host values are of type {source.dtype}, need numbers")
    elif not integers:
        raise InputError(f"host values are {source.dtype}, the array holds {target}")
    elif not np.can_cast(source.dtype, target):
        least, most = np.iinfo(target).min, np.iinfo(target).max
        if source.min() < least or source.max() > most:
            span = f"{source.min()} to {source.max()}"
            raise InputError(f"host values are {span}, {target} holds {least} to {most}")
