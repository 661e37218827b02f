"""The kernels of the beam ops: the device's own of `csrc`, and torch calls."""

from __future__ import annotations

from collections.abc import Iterator

from xgr.backends.ascend.ascendc.library import unbuilt
from xgr.errors import Reason
from xgr.ops.spec import Problem
from xgr.registry.kernel import Kernel

_ROOM = __name__.rpartition(".")[0]

# searched ops, which have a kernel in `csrc`; the others are a few torch calls
_SEARCHED = ("beam_step", "beam_sort", "mask_filter", "kv_reorder")
_PLAIN = ("kv_append", "beam_ancestors")


def as_torch_calls(problem: Problem) -> Iterator[Reason]:
    """Why a searched op is not made of torch calls unasked: dozens of launches instead of two.

    They are right, and serve until the kernels are built.
    """
    yield Reason(
        "calls",
        "dozens of torch calls",
        "the device's own kernels",
        f"build them, or ask for these: XGR_KERNEL={problem.op}=ascend.torch",
    )


BEAM_KERNELS = (
    *(
        Kernel(op, "ascend.ascendc", f"{_ROOM}.ascendc.{op}:build", priority=20, rule=unbuilt)
        for op in _SEARCHED
    ),
    *(
        Kernel(op, "ascend.torch", f"{_ROOM}.aten.{op}:build", priority=5, auto=as_torch_calls)
        for op in _SEARCHED
    ),
    *(Kernel(op, "ascend.torch", f"{_ROOM}.aten.{op}:build", priority=10) for op in _PLAIN),
)
