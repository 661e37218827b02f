"""`python -m xgr.backends.ascend.selftest`: see the package."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from xgr.backends.ascend import _compat
from xgr.backends.ascend.selftest import conform, graphs, groups, limits, machine, times
from xgr.backends.ascend.selftest.report import failed, readable, said
from xgr.runtime import Runtime, runtime

Part = Callable[[Runtime, argparse.Namespace], list[dict[str, Any]]]

PARTS: dict[str, Part] = {
    "conformance": conform.run,
    "limits": limits.run,
    "graphs": graphs.run,
    "core_groups": groups.run,
    "times": times.run,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts and write the report.

    Returns:
        0 where everything asked for ran and held, 1 where something did not, 2 without an NPU.
    """
    options = _options(arguments)
    missing = list(_compat.missing())
    if missing:
        print("no usable Ascend NPU:")
        for reason in missing:
            print(f"  {reason}")
        return 2
    rt = runtime("npu")
    report: dict[str, Any] = {"machine": machine.facts(rt)}
    for name in options.parts:
        print(f"{name} ...", flush=True)
        begin = time.perf_counter()
        try:
            report[name] = PARTS[name](rt, options)
        except Exception as error:  # a part that breaks is a finding, the others still run
            report[name] = [{"name": name, "outcome": "fail", "note": said(error)}]
        report.setdefault("seconds", {})[name] = round(time.perf_counter() - begin, 1)
    text = json.dumps(report, indent=1, default=str)
    Path(options.out).write_text(text + "\n", encoding="utf-8")
    print(readable(report))
    print(f"the report to send back: {options.out}")
    return 1 if failed(report) else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m xgr.backends.ascend.selftest", description=__doc__)
    parser.add_argument("--out", default="out_ascend_selftest.json", help="the report, JSON")
    parser.add_argument(
        "--parts", nargs="+", choices=PARTS, default=list(PARTS), help="what to run; all by default"
    )
    parser.add_argument(
        "--ops", nargs="+", default=[], help="ops of the conformance; all by default"
    )
    parser.add_argument("--kernels", nargs="+", default=[], help="kernels of the conformance")
    parser.add_argument("--match", default="", help="regular expression over case ids")
    parser.add_argument("--tokens", type=int, default=1024, help="of prompts that are timed")
    parser.add_argument("--budget", type=float, default=0.5, help="seconds of each timing")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
