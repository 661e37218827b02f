"""Times of the two things that a decode level consists of: staged attention and the beam step."""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace
from typing import Any

from xgr.backends.ascend.selftest.conform import missing
from xgr.backends.ascend.selftest.report import said
from xgr.conformance.entries import kernel_names
from xgr.conformance.perf import measure, perf_cases
from xgr.errors import Unsupported
from xgr.ops.spec import Case
from xgr.runtime import Runtime

# and the element type that models have there
OPS = {
    "staged_attention": "bfloat16",
    "shared_attention": "bfloat16",
    "unshared_attention": "bfloat16",
    "kv_reorder": "bfloat16",
    "beam_step": "float32",
}


def run(rt: Runtime, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Milliseconds, GFLOP/s and GB/s of every kernel's cases for timing."""
    return [
        _timed(rt, op, kernel, replace(case, dtype=kind), options.budget)
        for op, kind in OPS.items()
        for kernel in kernel_names("npu", op)
        if not options.kernels or kernel in options.kernels
        for case in perf_cases(op)
    ]


def _timed(rt: Runtime, op: str, kernel: str, case: Case, budget: float) -> dict[str, Any]:
    entry = {"name": f"{op} {kernel}", "case": case.id}
    if why := missing(kernel):
        return entry | {"outcome": "missing", "note": why}
    try:
        found = asdict(measure(rt, kernel or None, case, budget))
    except Unsupported as refusal:
        return entry | {"outcome": "missing", "note": said(refusal)}
    except Exception as error:  # the others are still worth timing
        return entry | {"outcome": "fail", "note": said(error)}
    numbers = {name: round(found[name], 4) for name in ("milliseconds", "gflops", "gbytes")}
    return entry | {"outcome": "measured", "launches": found["launches"], **numbers}
