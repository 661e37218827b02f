"""The ops on emulated kernels: from the arguments of a declaration to a launch."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.ascend.emulator.machine import Launch, Order, elements, tiling

Array = NDArray[Any]


def kv_reorder(
    *,
    k: Array,
    v: Array,
    parent: Array,
    row_start: Array,
    live: Array,
    status: Array,
    step: int,
    cores: int = 5,
    order: Order | None = None,
    fault: str = "",
    words: Array | None = None,
) -> None:
    """kv_reorder in place on host arrays."""
    layers, rows, slots, groups, size = k.shape
    if words is None:
        words = tiling(
            "kv_reorder", len(live), layers, rows, slots, groups, size, k.itemsize, step, cores
        )
    launch = Launch().array("k", k, "inout").array("v", v, "inout").array("parent", parent)
    launch.array("row_start", row_start).array("live", live).array("status", status, "inout")
    launch.array("tiling", words)
    launch.integers(*elements(k, range(4)), *elements(v, range(4))).integers(step, bits=32)
    launch.run("kv_reorder", int(words[1]), order, fault)


def padded(value: Array) -> Array:
    """The same values in a view whose rows lie three elements apart."""
    *outer, last = value.shape
    wide = np.full((*outer, last + 3), 77, value.dtype)
    wide[..., :last] = value
    return wide[..., :last]
