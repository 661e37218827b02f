"""Times of the two things that a decode level consists of: staged attention and the beam step."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from xgr.backends.ascend.selftest.report import said
from xgr.conformance.entries import kernel_names
from xgr.conformance.perf import measure, perf_cases
from xgr.errors import Unsupported
from xgr.runtime import Runtime

OPS = ("staged_attention", "shared_attention", "unshared_attention", "beam_step", "kv_reorder")


def run(rt: Runtime, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Milliseconds, GFLOP/s and GB/s of every kernel's cases for timing."""
    return [
        _timed(rt, op, kernel, case, options.budget)
        for op in OPS
        for kernel in kernel_names("npu", op)
        for case in perf_cases(op)
    ]


def _timed(rt: Runtime, op: str, kernel: str, case: Any, budget: float) -> dict[str, Any]:
    entry = {"name": f"{op} {kernel}", "case": case.id}
    try:
        found = asdict(measure(rt, kernel or None, case, budget))
    except Unsupported as refusal:
        return entry | {"outcome": "missing", "note": str(refusal).splitlines()[0]}
    except Exception as error:  # the others are still worth timing
        return entry | {"outcome": "fail", "note": said(error)}
    numbers = {name: round(found[name], 4) for name in ("milliseconds", "gflops", "gbytes")}
    return entry | {"outcome": "measured", "launches": found["launches"], **numbers}
