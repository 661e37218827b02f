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

# of csrc/kernels/layout.h: survivors of a request that a core sorts, requests that it looks through
MOST_SURVIVORS, MOST_REQUESTS = 3072, 1024


def as_torch_calls(problem: Problem) -> Iterator[Reason]:
    """Why a searched op is not made of torch calls unasked: dozens of launches instead of three.

    They are right, and serve until the kernels are built.
    """
    yield Reason(
        "calls",
        "dozens of torch calls",
        "the device's own kernels",
        f"build them, or ask for these: XGR_KERNEL={problem.op}=ascend.torch",
    )


def built(problem: Problem) -> Iterator[Reason]:
    """Why a kernel of `csrc` cannot run a problem: its limits, then whether it is there at all."""
    a = problem.sizes
    rows = a.get("RO", 0)
    # a batch's requests are narrower than all of its rows: beam_step marks one that is not
    alone = problem.op == "beam_sort" or a["B"] == 1
    if alone and rows > MOST_SURVIVORS:
        hint = f"XGR_KERNEL={problem.op}=ascend.torch sorts any number"
        yield Reason("limit", f"RO={rows}", f"at most {MOST_SURVIVORS} rows of a request", hint)
    yield from unbuilt(problem)


BEAM_KERNELS = (
    *(
        Kernel(
            op,
            "ascend.ascendc",
            f"{_ROOM}.ascendc.{op}:build",
            priority=20,
            limits={} if op == "kv_reorder" else {"B": (1, MOST_REQUESTS)},
            rule=built,
        )
        for op in _SEARCHED
    ),
    *(
        Kernel(op, "ascend.torch", f"{_ROOM}.aten.{op}:build", priority=5, auto=as_torch_calls)
        for op in _SEARCHED
    ),
    *(Kernel(op, "ascend.torch", f"{_ROOM}.aten.{op}:build", priority=10) for op in _PLAIN),
)
