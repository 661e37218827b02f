"""The kernel records of Ascend. Bodies, and with them torch and torch_npu, are imported on bind."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

from xgr.registry.kernel import Kernel

ROOM = __name__.rpartition(".")[0]

# one kernel each, of the technique named
PLAIN = {
    "embed": "torch",
    "gelu_gated": "library",
    "linear": "torch",
    "linear_logits": "torch",
    "linear_lse": "torch",
    "rms_norm": "library",
    "rope_kv": "library",
    "rope_prefill": "library",
    "rope_table": "torch",
    "swiglu": "library",
}


# modules that list the kernels of other ops and other techniques; none imports torch
LISTS = {
    "stages": "STAGE_KERNELS",
    "beams": "BEAM_KERNELS",
    "paged": "PAGED_KERNELS",
    "triton.kernels": "TRITON_KERNELS",
}


def _records() -> Iterator[Kernel]:
    for op, technique in PLAIN.items():
        yield Kernel(op, f"ascend.{technique}", f"{ROOM}.model_ops.{op}:build", priority=10)
    for module, listed in LISTS.items():
        yield from getattr(importlib.import_module(f"{ROOM}.{module}"), listed)


KERNELS: tuple[Kernel, ...] = tuple(_records())
