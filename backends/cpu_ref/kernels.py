"""The kernel records of the CPU: `reference` defines an op, `fast` is vectorised over BLAS."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable

from xgr.errors import Reason
from xgr.ops import spec, specs
from xgr.ops.spec import Problem
from xgr.registry.kernel import Kernel

# above this many operations or bytes the definition is not chosen unasked
TOY = 1 << 20

_FAST = "xgr.backends.cpu_ref.fast"
# tunables of fast kernels, and where the values worth measuring are listed
TUNED = {
    "beam_sort": (("tiles",), f"{_FAST}.beam_sort:space"),
    "prefill_attention": (("block",), f"{_FAST}.attend:space"),
    "shared_attention": (("block",), f"{_FAST}.attend:space"),
}


def _toy(problem: Problem) -> Iterable[Reason]:
    declared = spec(problem.op)
    work = max(declared.flops(problem), declared.bytes(problem))
    if work > TOY:
        hint = "ask for it with kernel= or XGR_KERNEL"
        yield Reason("slow", f"{work:.1e} operations or bytes", f"at most {TOY:.1e}", hint)


def _record(op: str, technique: str) -> Kernel | None:
    module = f"xgr.backends.cpu_ref.{technique}.{op}"
    if importlib.util.find_spec(module) is None:
        return None
    reference = technique == "reference"
    tunables, space = TUNED.get(op, ((), None)) if technique == "fast" else ((), None)
    return Kernel(
        op=op,
        name=f"cpu_ref.{technique}",
        factory=f"{module}:build",
        priority=0 if reference else 10,
        auto=_toy if reference else _anything,
        tunables=tunables,
        space=space,
    )


def _anything(problem: Problem) -> Iterable[Reason]:
    return ()


KERNELS: tuple[Kernel, ...] = tuple(
    record
    for op in specs()
    for technique in ("fast", "reference")
    if (record := _record(op, technique)) is not None
)
