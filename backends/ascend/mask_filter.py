"""The kernels of mask_filter."""

from __future__ import annotations

from xgr.backends.ascend.ascendc.library import unbuilt
from xgr.backends.ascend.asked import as_torch_calls
from xgr.registry.kernel import Kernel

_ROOM = __name__.rpartition(".")[0]

KERNELS = (
    Kernel(
        "mask_filter",
        "ascend.ascendc",
        f"{_ROOM}.ascendc.mask_filter:build",
        priority=20,
        rule=unbuilt,
    ),
    Kernel(
        "mask_filter",
        "ascend.torch",
        f"{_ROOM}.aten.mask_filter:build",
        priority=5,
        auto=as_torch_calls,
    ),
)
