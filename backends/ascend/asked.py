"""Kernels that serve when they are named, and not otherwise."""

from __future__ import annotations

from collections.abc import Iterator

from xgr.errors import Reason
from xgr.ops.spec import Problem


def as_torch_calls(problem: Problem) -> Iterator[Reason]:
    """Why a searched op is not composed of torch calls unasked: dozens of launches instead of two.

    They are right, and what serves until the kernels are built.
    """
    yield Reason(
        "calls",
        "dozens of torch calls",
        "the device's own kernels",
        f"build them, or ask for these: XGR_KERNEL={problem.op}=ascend.torch",
    )
