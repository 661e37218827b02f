"""The kernel records of CUDA. Bodies, and with them torch and Triton, are imported on bind."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator, Mapping
from typing import Any

from xgr.ops import specs
from xgr.registry.kernel import Kernel

ROOM = __name__.rpartition(".")[0]

# techniques of searched ops, and the priority that they have unless their facts say otherwise
TECHNIQUES = {"hopper": 15, "triton": 10, "torch": 5, "split": 1}

# one kernel each, of the technique named
PLAIN = {
    "beam_ancestors": "triton",
    "block_fork": "triton",
    "embed": "triton",
    "gelu_gated": "triton",
    "kv_append": "triton",
    "linear": "torch",
    "linear_add": "torch",
    "linear_logits": "torch",
    "linear_lse": "triton",
    "normed_swiglu": "triton",
    "rms_norm": "triton",
    "rope_kv": "triton",
    "rope_paged": "triton",
    "rope_prefill": "triton",
    "rope_table": "triton",
    "swiglu": "triton",
}


# modules of this package that list the configurations of searched ops
SPACES = {
    "beam_sort": "beam_step.blocks",
    "beam_step": "beam_step.blocks",
    "kv_reorder": "kv_reorder",
    "linear_swiglu": "linear_swiglu.tiles",
    "prefill_attention": "prefill_attention.tiles",
    "shared_attention": "staged_attention.heuristic",
    "staged_attention": "staged_attention.heuristic",
}


def _records() -> Iterator[Kernel]:
    for op in specs():
        if op in PLAIN:
            factory = f"{ROOM}.model_ops.{op}:build"
            yield Kernel(op, f"cuda.{PLAIN[op]}", factory, priority=10)
        elif importlib.util.find_spec(f"{ROOM}.{op}") is not None:
            yield from _searched(op)


def _searched(op: str) -> Iterator[Kernel]:
    """A kernel for each technique that has a file in the op's folder."""
    folder = importlib.import_module(f"{ROOM}.{op}")
    facts: Mapping[str, Mapping[str, Any]] = getattr(folder, "FACTS", {})
    space = f"{ROOM}.{SPACES[op]}:space" if op in SPACES else None
    for technique, priority in TECHNIQUES.items():
        module = f"{ROOM}.{op}.{technique}"
        if importlib.util.find_spec(module) is not None:
            known = {"priority": priority, "space": space, **facts.get(technique, {})}
            yield Kernel(op, f"cuda.{technique}", f"{module}:build", **known)


KERNELS: tuple[Kernel, ...] = tuple(_records())
