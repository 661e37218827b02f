"""The library of the device's own kernels: where it is, and what is missing without it."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from pathlib import Path

from xgr.backends.ascend import _compat
from xgr.errors import Reason
from xgr.ops.spec import Problem

# names the library, where it is not in the build folder
VARIABLE = "XGR_ASCEND_OPS"
BUILT = Path(__file__).parents[1] / "csrc" / "build" / "libxgr_ascend_ops.so"
BUILD = (
    "cmake -S backends/ascend/csrc -B backends/ascend/csrc/build -DXGR_ASCEND=ON && "
    "cmake --build backends/ascend/csrc/build, or name a built one: "
    f"{VARIABLE}=/path/to/{BUILT.name}"
)


def unbuilt(problem: Problem) -> Iterator[Reason]:
    """Why the kernels cannot be launched here; nothing where there is no NPU, only a plan."""
    if next(iter(_compat.missing()), None) is None:
        yield from load()


def is_loaded() -> bool:
    """Whether the operators are there."""
    import torch

    return hasattr(torch.ops.xgr_ascend, "beam_topk")


@functools.cache
def load() -> tuple[Reason, ...]:
    """Load the library once; reasons where it cannot be."""
    import torch

    if is_loaded():
        return ()  # by whoever made the process
    path = Path(os.environ.get(VARIABLE) or BUILT)
    need = "the library of the device's own kernels"
    if not path.is_file():
        return (Reason("library", f"no {path}", need, BUILD),)
    try:
        torch.ops.load_library(str(path))  # type: ignore[no-untyped-call]
    except OSError as error:
        return (Reason("library", f"{path}: {error}", need, BUILD),)
    return ()
