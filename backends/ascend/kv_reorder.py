"""The kernels of kv_reorder."""

from __future__ import annotations

from xgr.backends.ascend.ascendc.library import unbuilt
from xgr.backends.ascend.asked import as_torch_calls
from xgr.registry.kernel import Kernel

_ROOM = __name__.rpartition(".")[0]

KERNELS = (
    Kernel(
        "kv_reorder",
        "ascend.ascendc",
        f"{_ROOM}.ascendc.kv_reorder:build",
        priority=20,
        rule=unbuilt,
    ),
    Kernel(
        "kv_reorder",
        "ascend.torch",
        f"{_ROOM}.aten.kv_reorder:build",
        priority=5,
        auto=as_torch_calls,
    ),
)
