"""What a tuned choice costs on the host: the walk of a tree, the whole choice, and a kept one.

Medians of rounds in which all take turns, beside an empty Python call. Without --table the tree is
a made-up balanced one of 64 leaves, deeper than those that are fitted.

    python -m benchmarks.tuner_choice --json benchmarks/results/tuner_choice.json
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks._command import run_main, writable
from xgr import Problem, runtime
from xgr.bench import record
from xgr.ops import spec
from xgr.registry import features
from xgr.registry.table import Table, Tree, parse
from xgr.runtime import Runtime

ROUNDS, CALLS = 21, 5000
DEPTH = 6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--table", type=Path, help="a tuned table of staged_attention")
    parser.add_argument("--json", type=writable, help="write the record of the run")
    args = parser.parse_args()
    ns = measure(_read(args.table) if args.table else balanced())
    results = {"ns": ns, "calls": {name: each / ns["empty call"] for name, each in ns.items()}}
    print(json.dumps(results, indent=2))
    if args.json:
        settings = {"table": args.table.name if args.table else f"balanced, depth {DEPTH}"}
        record.write(args.json, "tuner_choice", results, settings=settings)


def measure(table: Table) -> dict[str, float]:
    """Nanoseconds of each call."""
    problem = posed()
    values = features.values(problem, table.features)
    walk, tree = table.tree.walk, table.features
    bare = Runtime("null", runtime("null").backend)
    bare.bind(problem.op, problem)
    return _median_ns(
        {
            "empty call": lambda: None,
            "walk": lambda: walk(values),
            "features": lambda: features.values(problem, tree),
            "choice by the table": lambda: table.choose(problem),
            "choice that is kept": lambda: bare.bind(problem.op, problem),
        }
    )


def posed() -> Problem:
    """A decode step of four requests."""
    sizes = {"R": 1024, "H": 16, "G": 8, "d": 128, "T": 8192, "S": 2, "B": 4}
    return Problem.of("staged_attention", "bfloat16", {"ancestors": True}, **sizes)


def balanced() -> Table:
    """Every leaf is `DEPTH` comparisons away."""
    names = features.names(spec("staged_attention"))
    inner, nodes = 2**DEPTH - 1, 2 ** (DEPTH + 1) - 1
    feature = [at % len(names) if at < inner else -1 for at in range(nodes)]
    left = [2 * at + 1 if at < inner else 0 for at in range(nodes)]
    right = [2 * at + 2 if at < inner else 0 for at in range(nodes)]
    tree = Tree(feature, [100.5] * nodes, left, right, [0] * nodes, [1.0] * nodes, [1e-9] * nodes)
    candidates = [("cuda.triton", {"block_m": 64})]
    return Table("made-up", "staged_attention", "bfloat16", "", names, tree, candidates, {}, {})


def _read(path: Path) -> Table:
    return parse(path.name, json.loads(path.read_text()), spec("staged_attention"))


def _median_ns(calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            start = time.perf_counter_ns()
            for _ in range(CALLS):
                call()
            times[name].append((time.perf_counter_ns() - start) / CALLS)
    return {name: statistics.median(spent) for name, spent in times.items()}


if __name__ == "__main__":
    run_main(main)
