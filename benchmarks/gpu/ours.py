"""xgr's staged attention on sets of inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch

from benchmarks.gpu.kernels import Config, build, named, plan
from benchmarks.gpu.staged import OWN, Batch, Inputs
from benchmarks.gpu.timing import Call
from xgr import Problem, Runtime, runtime

OP = "staged_attention"


@cache
def device() -> Runtime:
    """The runtime that is measured."""
    return runtime("cuda")


def problem(batch: Batch) -> Problem:
    """What is bound for a batch."""
    sizes = {"R": batch.rows, "H": batch.heads, "G": batch.groups, "d": batch.size}
    sizes |= {"T": sum(batch.lengths), "S": OWN, "B": len(batch.widths)}
    return Problem.of(OP, batch.dtype, {"ancestors": False}, **sizes)


def calls(batch: Batch, sets: Sequence[Inputs], kernel: str | None = None) -> Sequence[Call]:
    """The op on each set, bound by the dispatch rule or to a kernel."""
    return _calls(device().bind(OP, problem(batch), kernel), batch, sets)


def configured(batch: Batch, sets: Sequence[Inputs], kernel: str, config: Config) -> Sequence[Call]:
    """The op on each set, by a kernel with values of its tunables."""
    launch = build(device(), named(device(), OP, kernel), problem(batch), config)
    return _calls(launch, batch, sets)


def _calls(launch: Callable[..., None], batch: Batch, sets: Sequence[Inputs]) -> Sequence[Call]:
    plan(launch, batch.lengths, batch.widths)
    return [_call(launch, one.arguments(), one.out) for one in sets]


def _call(launch: Callable[..., None], arguments: dict[str, Any], out: torch.Tensor) -> Call:
    def call() -> torch.Tensor:
        launch(**arguments)
        return out

    return call
