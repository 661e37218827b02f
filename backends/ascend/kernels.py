"""The kernel records of Ascend. Bodies, and with them torch and torch_npu, are imported on bind."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator

from xgr.ops import specs
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


# modules that list the kernels of attention, and of other techniques
LISTS = {"stages": "STAGE_KERNELS", "triton.kernels": "TRITON_KERNELS"}


def _records() -> Iterator[Kernel]:
    for op in specs():
        if op in PLAIN:
            factory = f"{ROOM}.model_ops.{op}:build"
            yield Kernel(op, f"ascend.{PLAIN[op]}", factory, priority=10)
        elif importlib.util.find_spec(f"{ROOM}.{op}") is not None:
            # a module of the op's name lists its kernels and imports no torch
            yield from importlib.import_module(f"{ROOM}.{op}").KERNELS
    for module, listed in LISTS.items():
        yield from getattr(importlib.import_module(f"{ROOM}.{module}"), listed)


KERNELS: tuple[Kernel, ...] = tuple(_records())
