"""Every configuration of every kernel of staged attention, and what the dispatch rule loses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from benchmarks.gpu import ours
from benchmarks.gpu.ahead import compile_ahead
from benchmarks.gpu.floor import geomean
from benchmarks.gpu.kernels import Config, able, launches, space
from benchmarks.gpu.staged import Batch, Inputs
from benchmarks.gpu.timing import graph_us, set_count
from xgr.cli.output import print_table

# milliseconds of replays of a configuration
BUDGET_MS = 4.0

Candidate = tuple[str, Config]


def sweep(batches: Sequence[Batch]) -> dict[str, Any]:
    """Times of every candidate, the best of each batch, and the choice's time over the best's."""
    tried = {batch: candidates(batch) for batch in batches}
    compile_ahead(_launch, [(batch, one) for batch in batches for one in tried[batch]])
    found = [_batch(batch, tried[batch]) for batch in batches]
    print_table(
        ("batch", "chosen us", "/ floor", "best us", "regret", "kernel", "config"),
        [_cells(one) for one in found],
    )
    summary = {
        "regret": geomean(one["chosen_us"] / one["best"]["us"] for one in found),
        "chosen / floor": geomean(one["chosen_us"] / one["floor_us"] for one in found),
        "best / floor": geomean(one["best"]["us"] / one["floor_us"] for one in found),
    }
    for line in summary.items():
        print("{}: {:.3f}".format(*line))
    return {"summary": summary, "batches": found}


def candidates(batch: Batch) -> Sequence[Candidate]:
    """Of each kernel that can run a batch, its own choice and what it says can be tried."""
    rt, problem = ours.device(), ours.problem(batch)
    return [
        (kernel.name, dict(config))
        for kernel in able(rt, problem)
        for config in ({}, *space(rt, kernel, problem))
    ]


def _batch(batch: Batch, tried: Sequence[Candidate]) -> dict[str, Any]:
    sets = [Inputs(batch) for _ in range(set_count(batch.work.bytes))]
    timed = []
    for kernel, config in tried:
        calls = ours.configured(batch, sets, kernel, config)
        if not launches(calls[0]):
            continue
        sets[0].check(f"{kernel} {config}", sets[0].out)
        us = graph_us(calls, budget_ms=BUDGET_MS)
        timed.append({"kernel": kernel, "config": config, "us": us})
    chosen = graph_us(ours.calls(batch, sets), budget_ms=BUDGET_MS)
    del sets
    torch.cuda.empty_cache()
    return {
        "batch": str(batch),
        "floor_us": batch.work.floor_us(),
        "chosen_us": chosen,
        "best": min(timed, key=_us),
        "tried": timed,
        "too_large": len(tried) - len(timed),
    }


def _us(one: dict[str, Any]) -> float:
    us: float = one["us"]
    return us


def _cells(one: dict[str, Any]) -> Sequence[str]:
    best = one["best"]
    shown = " ".join(f"{name}={value}" for name, value in best["config"].items())
    return (
        one["batch"],
        f"{one['chosen_us']:.1f}",
        f"{one['chosen_us'] / one['floor_us']:.2f}",
        f"{best['us']:.1f}",
        f"{one['chosen_us'] / best['us']:.3f}",
        best["kernel"],
        shown or "its own choice",
    )


def _launch(job: tuple[Batch, Candidate]) -> None:
    batch, (kernel, config) = job
    launches(ours.configured(batch, [Inputs(batch, filled=False)], kernel, config)[0])
    torch.cuda.synchronize()
