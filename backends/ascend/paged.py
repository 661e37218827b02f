"""The kernels of the paged baseline: tables and copies by torch, attention by the library."""

from __future__ import annotations

from collections.abc import Iterator

from xgr.backends.ascend import constraints
from xgr.backends.ascend.stages import rotation
from xgr.errors import Reason
from xgr.ops.spec import Problem
from xgr.registry.kernel import Kernel

_ROOM = __name__.rpartition(".")[0]


def attention(problem: Problem) -> Iterator[Reason]:
    """What the fused attention takes of one query over blocks."""
    a = problem.sizes
    lengths = [1] * a["R"]
    call = constraints.Fia(
        "BSND", problem.dtype, a["R"], 1, a["H"], a["G"], a["d"], lengths, a["BT"]
    )
    yield from constraints.fia(call)


PAGED_KERNELS = (
    Kernel("block_fork", "ascend.torch", f"{_ROOM}.aten.block_fork:build", priority=10),
    Kernel("block_copy", "ascend.torch", f"{_ROOM}.aten.block_copy:build", priority=10),
    Kernel(
        "rope_paged",
        "ascend.library",
        f"{_ROOM}.model_ops.rope_paged:build",
        priority=10,
        rule=rotation,
    ),
    Kernel(
        "paged_attention",
        "ascend.fia",
        f"{_ROOM}.attention.paged_attention:build",
        priority=10,
        dtypes=constraints.FIA_DTYPES,
        rule=attention,
    ),
)
