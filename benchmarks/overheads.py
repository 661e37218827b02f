"""Host cost of a call: bare launcher, bound op, convenience call, bind, explain, import.

The kernel does nothing, so that what remains is the path to it. Ratios are to the bare launcher in
the same run; medians of repeats.

    python -m benchmarks.overheads --json benchmarks/results/overheads.json
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks._command import run_main, writable
from xgr import Problem, Runtime, float32, int32, runtime
from xgr.bench import record
from xgr.registry import Kernel

REPEATS, CALLS = 21, 2000
ROWS, CODES = 128, 256


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", type=writable, help="write the record of the run")
    args = parser.parse_args()
    results = {"ns": _calls(), "import_ms": _imports()}
    bare = results["ns"]["bare launcher"]
    results["over_bare_ns"] = {name: ns - bare for name, ns in results["ns"].items()}
    results["ratio_to_bare"] = {name: ns / bare for name, ns in results["ns"].items()}
    print(json.dumps(results, indent=2))
    if args.json:
        record.write(args.json, "overheads", results)


def _calls() -> dict[str, float]:
    rt = runtime("cpu").lane()
    rt.register(Kernel("beam_sort", "nothing", lambda problem, context: _nothing, priority=99))
    arguments = _arguments(rt)
    problem = rt.problem("beam_sort", **arguments)
    bound = rt.bind("beam_sort", problem)
    launch = _nothing

    def launch_bare() -> None:
        launch(**arguments)

    sort = rt.beam_sort
    return _median_ns(
        {
            "bare launcher": (launch_bare, CALLS),
            "bound op": (lambda: bound(**arguments), CALLS),
            "convenience call": (lambda: sort(**arguments), CALLS),
            "bind, cached": (lambda: rt.bind("beam_sort", problem), CALLS),
            "bind, first": (lambda: runtime_bind(rt, problem), 20),
            "explain": (lambda: str(rt.explain("beam_sort", problem)), 20),
        }
    )


def runtime_bind(rt: Runtime, problem: Problem) -> None:
    """A bind of a problem that was never seen."""
    rt.lane().bind("beam_sort", problem)


def _nothing(**arguments: Any) -> None:
    return


def _arguments(rt: Runtime) -> dict[str, Any]:
    ints = {name: rt.empty((n,), int32) for name, n in (
        ("row_start", 2), ("live", 1), ("row_start_out", 2), ("out_width", 1),
        ("parent", ROWS), ("code", ROWS), ("live_out", 1),
    )}  # fmt: skip
    return {
        "scores": rt.empty((ROWS, CODES), float32),
        "cumulative": rt.empty((ROWS,), float32),
        "score": rt.empty((ROWS,), float32),
        "order": "rank",
        **ints,
    }


def _median_ns(calls: dict[str, tuple[Callable[[], Any], int]]) -> dict[str, float]:
    """Nanoseconds of each call, medians over rounds in which they take turns."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(REPEATS):
        for name, (call, count) in calls.items():
            start = time.perf_counter_ns()
            for _ in range(count):
                call()
            times[name].append((time.perf_counter_ns() - start) / count)
    return {name: statistics.median(spent) for name, spent in times.items()}


def _imports() -> dict[str, float]:
    """Wall milliseconds of a fresh interpreter, median of 11, less the bare interpreter's."""
    codes = {
        "interpreter": "pass",
        "import xgr": "import xgr",
        "import numpy": "import numpy",
        "import xgr and make a CPU runtime": "import xgr; xgr.runtime('cpu')",
    }
    spent: dict[str, list[float]] = {name: [] for name in codes}
    for _ in range(11):
        for name, code in codes.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            spent[name].append((time.perf_counter() - start) * 1e3)
    medians = {name: statistics.median(times) for name, times in spent.items()}
    base = medians.pop("interpreter")
    return {name: ms - base for name, ms in medians.items()}


if __name__ == "__main__":
    run_main(main)
