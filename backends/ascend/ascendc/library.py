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
CSRC = Path(__file__).parents[1] / "csrc"
BUILT = CSRC / "build" / "libxgr_ascend_ops.so"
BUILD = (
    f"cmake -S {CSRC} -B build-ascend -DXGR_ASCEND=ON -DSOC_VERSION=Ascend910B3 && "
    f"cmake --build build-ascend && export {VARIABLE}=$PWD/build-ascend/{BUILT.name}; "
    "SOC_VERSION is what torch.npu.get_device_name() says"
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
