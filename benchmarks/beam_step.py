"""One level of beam search on a GPU beside one read of the logits, torch and FlashInfer.

Logits of 8192 codes for 1, 4 and 16 requests of 128 to 512 beams, flat and peaked, with
every code legal and over catalogues of three levels: dense (6 % of the codes under a node), random
(a million items, 122 children a node, then one or two) and games (17,000 items over 256 of the
codes). Small is games over logits of 256 codes. The op is held to the CPU's definition on a small
case, and its scores to torch's topk on every one timed.

    python -m benchmarks.beam_step --peers flashinfer --json benchmarks/results/beam_step.json
"""

from __future__ import annotations

import argparse
import importlib
import re
import time
from collections.abc import Mapping, Sequence
from functools import cache
from operator import itemgetter
from typing import Any

import torch

from benchmarks._command import run_main, writable
from benchmarks.gpu import flashinfer
from benchmarks.gpu.ahead import compile_ahead
from benchmarks.gpu.floor import geomean
from benchmarks.gpu.kernels import Config, able, launches, space
from benchmarks.gpu.levels import (
    Beams,
    Level,
    Set,
    configured,
    levels,
    ours,
    problem,
    swept,
)
from benchmarks.gpu.timing import Call, device_settings, graph_us, measure_ceilings, set_count
from xgr import Runtime, runtime
from xgr.bench import record
from xgr.cli.output import print_table
from xgr.conformance import Outcome, run_case
from xgr.ops import spec

# milliseconds of replays of a column
BUDGET_MS = 6.0


def main() -> None:
    args = parse()
    chosen = swept(args.logits) if args.sweep else levels(args.logits)
    chosen = [one for one in chosen if re.search(args.only, str(one))]
    if not chosen:
        raise SystemExit(f"--only {args.only!r} matches no level; one is {levels(args.logits)[0]}")
    start = time.perf_counter()
    settings = device_settings(measure_ceilings())
    settings["logits"] = args.logits
    conform(args.logits)
    results = sweep(chosen) if args.sweep else compare(chosen, args.peers)
    print(f"{time.perf_counter() - start:.0f} s in all")
    if args.json:
        settings |= flashinfer.settings() if args.peers else {}
        record.write(args.json, "beam_step", results, settings=settings)


def compare(chosen: Sequence[Level], peers: Sequence[str]) -> dict[str, Any]:
    """Every column on every level."""
    compile_ahead(launch_once, list({_compiled(one): one for one in chosen}.values()))
    found = [(level, *time_level(level, peers)) for level in chosen]
    show(found)
    summary = summarise(found)
    for line in summary.items():
        print("{}: {:.2f}".format(*line))
    rows = [{"level": str(x), "floor_us": floor, "us": us} for x, floor, us in found]
    return {"summary": summary, "levels": rows}


def sweep(chosen: Sequence[Level]) -> list[dict[str, Any]]:
    """Every configuration of every kernel on every level, the best beside its own choice."""
    kinds = {_compiled(level): level for level in chosen}.values()
    compile_ahead(launch_configured, [(x, *one) for x in kinds for one in candidates(x)])
    found = []
    for level in chosen:
        sets = input_sets(level)
        tried = []
        for name, config in candidates(level):
            calls = configured(device(), sets, name, config)
            if launches(calls[0]):
                sets[0].check(f"{name} {config}")
                tried.append((graph_us(calls, budget_ms=BUDGET_MS), name, config))
        best = min(tried, key=itemgetter(0))
        own = graph_us(ours(device(), sets), budget_ms=BUDGET_MS)
        print(f"{level}: {own:.1f} us, best {best[0]:.1f} us, {best[1]} {best[2]}", flush=True)
        found.append({"level": str(level), "chosen_us": own, "tried": tried})
    return found


def candidates(level: Level) -> Sequence[tuple[str, Config]]:
    """Of each kernel, its own choice and what it says can be tried."""
    posed = problem(device(), Set(Beams(device(), level)))
    return [
        (kernel.name, dict(config))
        for kernel in able(device(), posed)
        for config in ({}, *space(device(), kernel, posed))
    ]


def launch_configured(job: tuple[Level, str, Config]) -> None:
    """Compile a configuration, where it fits the device."""
    level, name, config = job
    launches(configured(device(), [Set(Beams(device(), level))], name, config)[0])
    torch.cuda.synchronize()


def conform(dtype: str) -> None:
    """Hold the op to its definition on a small case.

    Raises:
        SystemExit: it differs.
    """
    kind = (dtype, "level")
    cases = spec("beam_step").cases()
    case = next(one for one in cases if (one.dtype, one.flags["normalize"]) == kind)
    result = run_case(device(), None, case)
    if result.outcome is not Outcome.OK:
        raise SystemExit(f"{case.id}: {'; '.join(result.notes)}")


def time_level(level: Level, peers: Sequence[str]) -> tuple[float, Mapping[str, float]]:
    """The floor in microseconds, and the time of each column.

    Peers select as the op does where scores are relative to a level: torch by log-softmax, mask
    and topk, FlashInfer by its top_k alone, on scores that were made before.
    """
    sets = input_sets(level)
    work, calls = sets[0].beams.work, ours(device(), sets)
    calls[0]()
    sets[0].check("xgr")
    us = {"xgr": graph_us(calls, budget_ms=BUDGET_MS)}
    if level.normalize == "level":
        us["torch"] = graph_us([_torch(one) for one in sets], budget_ms=BUDGET_MS)
        if "flashinfer" in peers and flashinfer.compiled((selected := _top_k(sets))[0]):
            us["FlashInfer top_k"] = graph_us(selected, budget_ms=BUDGET_MS)
    del sets, calls
    torch.cuda.empty_cache()
    return work.floor_us(), us


def input_sets(level: Level) -> list[Set]:
    """As many sets as together exceed the caches."""
    beams = Beams(device(), level)
    logits = level.requests * level.width * level.codes * level.item
    return [Set(beams) for _ in range(set_count(logits))]


def _torch(one: Set) -> Call:
    width = one.beams.level.width
    return lambda: one.beams.scores(one.logits, one.cumulative).topk(width, dim=1)


def _top_k(sets: Sequence[Set]) -> Sequence[Call]:
    top_k = importlib.import_module("flashinfer").top_k
    width = sets[0].beams.level.width

    def call(scores: torch.Tensor) -> Call:
        return lambda: top_k(scores, width)

    return [call(one.beams.scores(one.logits, one.cumulative)) for one in sets]


def show(found: Sequence[tuple[Level, float, Mapping[str, float]]]) -> None:
    """A line for each kind of level and column, under the sizes."""
    sizes = list(dict.fromkeys(f"B{x.requests} {x.width}" for x, _, _ in found))
    lines: dict[tuple[str, str], dict[str, str]] = {}
    for level, floor, us in found:
        kind = str(level).split(" ", 2)[2]
        for column, taken in us.items():
            cell = f"{taken:.1f} ({taken / floor:.1f}x)"
            lines.setdefault((kind, column), {})[f"B{level.requests} {level.width}"] = cell
    print_table(
        ("us (x floor)", "", *sizes),
        [(*key, *(cells.get(size, "-") for size in sizes)) for key, cells in lines.items()],
    )


def summarise(found: Sequence[tuple[Level, float, Mapping[str, float]]]) -> dict[str, float]:
    """Greatest time where every code counts, by requests at width 512; geomeans of peers."""
    summary = {}
    for requests in (1, 4, 16):
        full = [
            us["xgr"]
            for x, _, us in found
            if (x.requests, x.width, x.normalize) == (requests, 512, "level")
        ]
        if full:
            summary[f"most us at B {requests}, BW 512, normalize level"] = max(full)
    for peer in ("torch", "FlashInfer top_k"):
        ratios = [us[peer] / us["xgr"] for _, _, us in found if peer in us]
        if ratios:
            summary[f"{peer} / xgr"] = geomean(ratios)
    return summary


def launch_once(level: Level) -> None:
    """Compile what a level needs."""
    ours(device(), [Set(Beams(device(), level))])[0]()
    torch.cuda.synchronize()


def _compiled(level: Level) -> tuple[object, ...]:
    """What a binary depends on; the logits are not of it."""
    place = (level.catalogue == "none", level.level, level.codes)
    return (level.requests, level.width, *place, level.normalize, level.dtype)


@cache
def device() -> Runtime:
    """The runtime that is measured."""
    return runtime("cuda")


def parse(words: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line; peers that are not here are left out, and said to be."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--peers", nargs="*", default=[], choices=["flashinfer"])
    parser.add_argument("--logits", default="bfloat16", choices=("bfloat16", "float32"))
    parser.add_argument("--sweep", action="store_true", help="every configuration of the kernels")
    parser.add_argument("--only", default="", help="regular expression on levels")
    parser.add_argument("--json", type=writable, help="write the record of the run")
    args = parser.parse_args(words)
    args.peers = flashinfer.present(args.peers)
    return args


if __name__ == "__main__":
    run_main(main)
