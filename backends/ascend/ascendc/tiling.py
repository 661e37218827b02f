"""The division of a kernel's work among cores: computed on the host, kept on the device."""

from __future__ import annotations

from typing import Any, NamedTuple

from xgr.backends.ascend import _compat, device
from xgr.ops.dtype import int64
from xgr.registry.kernel import Context


class Tiling(NamedTuple):
    """What a launch is given of it.

    Attributes:
        tiling: int64 [n], on the device.
        cores: vector cores of the launch.
        workspace: bytes.
    """

    tiling: Any
    cores: int
    workspace: int


def tiled(context: Context, kernel: str, **sizes: int) -> Tiling:
    """The tiling of a kernel of `csrc` on the current device's vector cores, in workspace.

    Raises:
        RuntimeError: a size that the kernel does not take, with its limit.
    """
    cores = device.current().vector_cores
    host = _compat.call(f"xgr_ascend::{kernel}_tiling", **sizes, cores=cores)
    workspace, used = host[:2].tolist()
    kept: Any = context.empty((host.shape[0],), int64)
    kept.copy_(host)
    return Tiling(kept, used, workspace)
