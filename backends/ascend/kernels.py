"""The kernel records of Ascend. Bodies, and with them torch and torch_npu, are imported on bind."""

from __future__ import annotations

import importlib
import importlib.util
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


# modules that list the kernels of other ops, and of other techniques; none imports torch
LISTS = {"beams": "BEAM_KERNELS", "stages": "STAGE_KERNELS", "triton.kernels": "TRITON_KERNELS"}


def _records() -> Iterator[Kernel]:
    for op, technique in PLAIN.items():
        factory = f"{ROOM}.model_ops.{op}:build"
        yield Kernel(op, f"ascend.{technique}", factory, priority=10)
    for module, listed in LISTS.items():
        if importlib.util.find_spec(f"{ROOM}.{module}") is None:
            continue
        yield from getattr(importlib.import_module(f"{ROOM}.{module}"), listed)


KERNELS: tuple[Kernel, ...] = tuple(_records())
