"""Ragged batches beside even ones of the same work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.gpu import ours
from benchmarks.gpu.staged import Batch, Inputs
from benchmarks.gpu.timing import graph_us, set_count
from xgr.cli.output import print_table


def compare(batches: Sequence[Batch]) -> dict[str, Any]:
    """Ratio to the floor of each batch and of its even one, and the first over the second."""
    found = []
    for batch in batches:
        ragged, even = _time(batch), _time(batch.even())
        over_even = ragged["over_floor"] / even["over_floor"]
        found.append({"ragged": ragged, "even": even, "ragged_over_even": over_even})
    print_table(
        ("ragged", "us", "/ floor", "even", "us", "/ floor", "ragged / even"),
        [
            (*_cells(one["ragged"]), *_cells(one["even"]), f"{one['ragged_over_even']:.2f}")
            for one in found
        ],
    )
    worst = max(one["ragged_over_even"] for one in found)
    print(f"worst: {worst:.2f}")
    return {"worst": worst, "batches": found}


def _time(batch: Batch) -> dict[str, Any]:
    sets = [Inputs(batch) for _ in range(set_count(batch.work.bytes))]
    calls = ours.calls(batch, sets)
    sets[0].check("xgr", calls[0]())
    us = graph_us(calls)
    return {"batch": str(batch), "us": us, "over_floor": us / batch.work.floor_us()}


def _cells(one: dict[str, Any]) -> Sequence[str]:
    return one["batch"], f"{one['us']:.1f}", f"{one['over_floor']:.2f}"
