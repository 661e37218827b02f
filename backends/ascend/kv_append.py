"""The kernel of kv_append."""

from __future__ import annotations

from xgr.registry.kernel import Kernel

_ROOM = __name__.rpartition(".")[0]

KERNELS = (Kernel("kv_append", "ascend.torch", f"{_ROOM}.aten.kv_append:build", priority=10),)
