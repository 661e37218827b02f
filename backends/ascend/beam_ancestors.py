"""The kernel of beam_ancestors."""

from __future__ import annotations

from xgr.registry.kernel import Kernel

_ROOM = __name__.rpartition(".")[0]

KERNELS = (
    Kernel("beam_ancestors", "ascend.torch", f"{_ROOM}.aten.beam_ancestors:build", priority=10),
)
