"""The kernel records of attention: stages by the library's fused attention, and their merge."""

from __future__ import annotations

from xgr.registry.kernel import Kernel

STAGE_KERNELS: tuple[Kernel, ...] = ()
