"""Every case of every op on every kernel that can be launched here, against the definition."""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from typing import Any

from xgr.backends.ascend.ascendc import library
from xgr.backends.ascend.triton.kernels import installed
from xgr.conformance.entries import cases_of, gaps_of, kernel_names
from xgr.conformance.runner import Outcome, run_case
from xgr.ops import specs
from xgr.runtime import Runtime

# complaints of a kernel that are kept; their number is kept in any case
MOST = 20


def run(rt: Runtime, options: argparse.Namespace) -> list[dict[str, Any]]:
    """One entry a kernel: how many cases came out how, and what the failed ones said."""
    return [
        found
        for op in options.ops or specs()
        for kernel in kernel_names("npu", op)
        if not options.kernels or kernel in options.kernels
        if (found := _kernel(rt, op, kernel, options.match)) is not None
    ]


def missing(kernel: str) -> str:
    """What a technique needs and this machine lacks; empty where nothing is lacking."""
    if kernel == "ascend.ascendc" and library.load():
        return "the library of csrc is not built"
    if kernel == "ascend.triton" and not installed():
        return "Triton-Ascend is not installed"
    return ""


def _kernel(rt: Runtime, op: str, kernel: str, pattern: str) -> dict[str, Any] | None:
    entry: dict[str, Any] = {"name": f"{op} {kernel or '-'}", "op": op, "kernel": kernel}
    if why := missing(kernel):
        return entry | {"outcome": "missing", "note": why}
    cases = [case for case in cases_of(op) if re.search(pattern, case.id)]
    if not cases:
        return None
    counts: Counter[str] = Counter()
    complaints: list[dict[str, Any]] = []
    for case in cases:
        result = run_case(rt, kernel or None, case, gaps_of("npu"))
        counts[result.outcome.value] += 1
        if result.outcome is Outcome.FAIL and len(complaints) < MOST:
            complaints.append({"case": case.id, "notes": list(result.notes)[:3]})
    outcome = "ok" if not counts[Outcome.FAIL.value] else "fail"
    if not counts[Outcome.OK.value] and outcome == "ok":
        outcome = "gap"
    print(f"  {entry['name']:40} {dict(counts)}", file=sys.stderr, flush=True)
    return entry | {"outcome": outcome, "cases": dict(counts), "complaints": complaints}
