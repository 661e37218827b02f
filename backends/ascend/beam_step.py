"""The kernels of beam_step."""

from __future__ import annotations

from xgr.backends.ascend.ascendc.library import unbuilt
from xgr.backends.ascend.asked import as_torch_calls
from xgr.registry.kernel import Kernel

_ROOM = __name__.rpartition(".")[0]

KERNELS = (
    Kernel(
        "beam_step",
        "ascend.ascendc",
        f"{_ROOM}.ascendc.beam_step:build",
        priority=20,
        rule=unbuilt,
    ),
    Kernel(
        "beam_step",
        "ascend.torch",
        f"{_ROOM}.aten.beam_step:build",
        priority=5,
        auto=as_torch_calls,
    ),
)
