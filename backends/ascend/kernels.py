"""The kernel records of Ascend. Bodies, and with them torch and torch_npu, are imported on bind."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

from xgr.backends.ascend.stages import rotation
from xgr.errors import Reason
from xgr.ops.spec import Problem
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


# what the library takes of a problem beyond what the op declares
RULES = {"rope_kv": rotation, "rope_prefill": rotation}

# modules that list the kernels of other ops and other techniques; none imports torch
LISTS = {
    "stages": "STAGE_KERNELS",
    "beams": "BEAM_KERNELS",
    "paged": "PAGED_KERNELS",
    "triton.kernels": "TRITON_KERNELS",
}


def _any(problem: Problem) -> tuple[Reason, ...]:
    return ()


def _records() -> Iterator[Kernel]:
    for op, technique in PLAIN.items():
        factory, rule = f"{ROOM}.model_ops.{op}:build", RULES.get(op, _any)
        yield Kernel(op, f"ascend.{technique}", factory, priority=10, rule=rule)
    for module, listed in LISTS.items():
        yield from getattr(importlib.import_module(f"{ROOM}.{module}"), listed)


KERNELS: tuple[Kernel, ...] = tuple(_records())
