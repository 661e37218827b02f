"""The kernel records of Triton on Ascend. Bodies, and with them Triton, are imported on bind."""

from __future__ import annotations

from xgr.backends.ascend.triton.selection import fits
from xgr.registry.kernel import Kernel, Rule

_ROOM = __name__.rpartition(".")[0]

# a second implementation of the device's own kernels: chosen when named, or where nothing else is
PRIORITY = 2

_RULES: dict[str, dict[str, Rule]] = {
    "beam_sort": {"rule": fits},
    "kv_reorder": {},
    "mask_filter": {},
    "merge_attention": {},
    "shared_attention": {},
    "unshared_attention": {},
}

TRITON_KERNELS: tuple[Kernel, ...] = tuple(
    Kernel(op, "ascend.triton", f"{_ROOM}.{op}:build", priority=PRIORITY, **rules)
    for op, rules in _RULES.items()
)
