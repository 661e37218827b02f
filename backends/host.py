"""Host values as NumPy has them: the rules of what backends cast and what they refuse."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from xgr.errors import InputError

NUMPY_TYPES: dict[str, Any] = {
    "float64": np.float64,
    "float32": np.float32,
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "int64": np.int64,
    "int32": np.int32,
    "uint32": np.uint32,
}


def host_array(host: Any) -> NDArray[Any]:
    """A host array or nested sequence as NumPy has it.

    Raises:
        InputError: the sequence is ragged.
    """
    try:
        return np.asarray(host)
    except ValueError as error:
        raise InputError(f"ragged host sequence: {error}") from None


def check_cast(source: NDArray[Any], target: np.dtype[Any]) -> None:
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


def slug(name: str) -> str:
    """A device's name in lower case, its words joined by `-`: "NVIDIA H200" is "nvidia-h200"."""
    return "-".join(re.findall(r"[a-z0-9.]+", name.lower()))
