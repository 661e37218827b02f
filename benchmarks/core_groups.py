"""Latency of staged attention against the share of SMs that its shared stage gets.

Six decode steps; on each, every division of the SMs that the kernel of two stages lists, the best
division of all six, the one that is chosen by tuned table (XGR_TABLES) or rule, and the kernel of
one stage, whose blocks each do both.

    python -m benchmarks.core_groups --json core_groups.json --plot core_groups.png
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks._command import drawable, run_main, writable
from xgr import Problem, Runtime, runtime
from xgr.bench import plot, record
from xgr.cli.output import print_table
from xgr.tuner import space
from xgr.tuner.measure import Bench

OP, SPLIT, SHARE = "staged_attention", "cuda.split", "shared_cores"
# requests, rows and prompt tokens of each: short prompts of many beams to long ones of few
SHAPES = ((1, 512, 256), (1, 128, 8192), (4, 512, 1024), (4, 128, 4096), (16, 256, 512),
          (16, 128, 3072))  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kernel", default=SPLIT, help="the kernel of two stages")
    parser.add_argument("--fused", default="", help="the kernel of one; else the one by rule")
    parser.add_argument("--plot", type=drawable, help="draw it")
    parser.add_argument("--json", type=writable, help="write the record of the run")
    args = parser.parse_args()
    rt, start = runtime("cuda"), time.perf_counter()
    known = [kernel.name for kernel in rt.kernels(OP)]
    if args.kernel not in known:
        raise SystemExit(f"{OP} has no kernel {args.kernel!r}; known: {', '.join(known)}")
    found: list[dict[str, Any]] = []
    try:
        for shape in SHAPES:
            found.append(measure(rt, posed(*shape), args.kernel, args.fused))
            print(f"{found[-1]['problem']}: {found[-1]['divided']}", flush=True)
    except KeyboardInterrupt:
        print(f"interrupted: {len(found)} of {len(SHAPES)} shapes are recorded")
    fixed = best_fixed([one["divided"] for one in found])
    for one in found:
        one["fixed_us"] = one["divided"].get(fixed)
    show(found, fixed)
    print(f"{time.perf_counter() - start:.0f} s in all")
    if args.json:
        results = {"fixed_shared_cores": fixed, "shapes": found}
        settings = {"device": rt.backend.device, "cores": rt.backend.cores, "kernel": args.kernel}
        record.write(args.json, "core_groups", results, settings=settings)
    if args.plot:
        draw(found, fixed, args.plot)


def posed(requests: int, width: int, tokens: int) -> Problem:
    """A decode step of Qwen3 0.6B in its third level."""
    sizes = {"R": requests * width, "T": requests * tokens, "B": requests}
    flags = {"ancestors": True}
    return Problem.of(OP, "bfloat16", flags, H=16, G=8, d=128, S=2, **sizes)


def measure(rt: Runtime, problem: Problem, kernel: str, fused: str) -> dict[str, Any]:
    """Microseconds of every division (the fastest of its configurations), the choice, one stage."""
    own = space.Candidate(fused) if fused else fused_rule(rt, problem, kernel)
    bench = Bench(rt, problem, own, rt.stream())
    divided: dict[int, float] = {}
    failed: dict[str, str] = {}
    for one in space.candidates(rt, problem):
        if one.kernel == kernel and SHARE in one.config:
            us = bench.us(one)
            if isinstance(us, str):
                failed[str(one)] = us
            else:
                share = one.config[SHARE]
                divided[share] = min(us, divided.get(share, math.inf))
    choice = rt.choose(OP, problem)
    taken = space.Candidate(choice.name, choice.config)
    return {
        "problem": str(problem),
        "divided": divided,
        "failed": failed,
        "chosen": str(taken),
        "chosen_shared_cores": choice.config.get(SHARE) if choice.name == kernel else None,
        "chosen_by": choice.source,
        "chosen_us": _us(bench, taken),
        "fused": str(own),
        "fused_us": _us(bench, own),
    }


def fused_rule(rt: Runtime, problem: Problem, kernel: str) -> space.Candidate:
    """The kernel of highest priority but the one of two stages, by its own rule."""
    rest = [one for one in space.able(rt, problem) if one.name != kernel]
    return space.Candidate(max(rest, key=lambda one: one.priority).name)


def best_fixed(divided: Sequence[Mapping[int, float]]) -> int:
    """The division of least mean log-time among those that every shape has.

    Raises:
        SystemExit: there is none.
    """
    common = set.intersection(*(set(one) for one in divided))
    if not common:
        raise SystemExit("no division of the SMs was measured on every shape")
    return min(common, key=lambda x: statistics.mean(math.log(one[x]) for one in divided))


def show(found: Sequence[Mapping[str, Any]], fixed: int) -> None:
    """A line a shape."""
    rows = []
    for one in found:
        best = min(one["divided"], key=one["divided"].__getitem__)
        rows.append(
            (one["problem"], f"{best}: {one['divided'][best]:.1f}", f"{one['fixed_us']:.1f}",
             f"{one['chosen']}: {one['chosen_us']:.1f}", f"{one['fused_us']:.1f}")
        )  # fmt: skip
    columns = ("problem", "best shared SMs: us", f"{fixed} SMs us", "chosen: us", "one stage us")
    print_table(columns, rows)


def draw(found: Sequence[Mapping[str, Any]], fixed: int, path: Path) -> None:
    """A panel a shape: time over SMs of the shared stage."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 6), layout="constrained")
    for at, one in enumerate(found):
        axes = figure.add_subplot(2, math.ceil(len(found) / 2), at + 1)
        shares = sorted(one["divided"])
        axes.plot(shares, [one["divided"][x] for x in shares], "o-", markersize=3)
        axes.plot([fixed], [one["fixed_us"]], "s", label="best fixed division")
        share = one["chosen_shared_cores"]
        if share is not None:
            axes.plot([share], [one["chosen_us"]], "*", markersize=14, label="chosen")
        else:
            axes.axhline(one["chosen_us"], linestyle="--", color="C2", label="chosen: one stage")
        axes.axhline(one["fused_us"], linestyle=":", color="grey", label="one stage")
        axes.set(title=one["problem"].partition("[")[2].partition(",S=")[0], ylim=(0, None))
        axes.set(xlabel="SMs of the shared stage", ylabel="us")
        if at == 0:
            axes.legend(fontsize="small")
    plot.save(figure, path)


def _us(bench: Bench, one: space.Candidate) -> float:
    us = bench.us(one)
    if isinstance(us, str):
        raise SystemExit(f"{one} fails: {us}")
    return us


if __name__ == "__main__":
    run_main(main)
