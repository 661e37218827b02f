"""The times of candidates on a problem, and whether their results agree."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from functools import partial
from itertools import cycle, islice
from typing import Any

import numpy as np

from xgr.backends.base import Stream
from xgr.conformance.replays import Replays, on_device, set_count
from xgr.ops import spec
from xgr.ops.spec import Problem
from xgr.registry.kernel import Launcher
from xgr.runtime import Runtime
from xgr.tuner import inputs, space

# launches of a graph at least; replays of one, by the milliseconds that they shall take
LAUNCHES, BUDGET_MS, LEAST, MOST = 4, 3.0, 3, 25
# a measurement is repeated while its quartiles lie further apart than this share of its median
SPREAD, ATTEMPTS = 0.04, 2
# rows whose results are compared at either end, and how far those of two candidates may lie apart
ROWS, TOLERANCE = 32, 0.02


class Bench:
    """A problem's arguments on the device, and the times of candidates on them.

    Args:
        rt: the device.
        problem: what is bound.
        own: the candidate whose results those of the others are held to.
        stream: where everything runs.
    """

    def __init__(self, rt: Runtime, problem: Problem, own: space.Candidate, stream: Stream) -> None:
        self._rt, self._problem, self._stream = rt, problem, stream
        apart = on_device(rt)  # elsewhere a launch takes long, and has the caches it left
        count = set_count(spec(problem.op).bytes(problem)) if apart else 1
        self._launches = LAUNCHES if apart else 1
        self._sets = inputs.arguments(rt, problem, count)
        rt.synchronize()
        with stream:
            self._build(own)(**self._sets[0])
            self._expected = self._results()

    def us(self, candidate: space.Candidate) -> float | str:
        """Microseconds of a launch, or why there is none."""
        try:
            with self._stream:
                us = self._time(self._build(candidate))
                apart = _apart(self._expected, self._results())
                return (
                    us if apart <= TOLERANCE else f"results differ by {apart:.2g} of the greatest"
                )
        except Exception as error:  # too large for the device, or the kernel's own refusal
            self._rt.synchronize()  # raises where the device has failed for good
            return f"{type(error).__name__}: {error}".splitlines()[0]

    def _build(self, candidate: space.Candidate) -> Launcher:
        launch = space.build(self._rt, self._problem, candidate)
        inputs.plan(launch, self._problem)
        return launch

    def _results(self) -> list[Any]:
        """First and last rows of the outputs that are real numbers."""
        self._stream.synchronize()
        found = []
        for arg in spec(self._problem.op).outputs:
            if arg.dtype in {"model", "float32"}:
                array = self._sets[0][arg.name]
                found += [self._rt.fetch(array[:ROWS]), self._rt.fetch(array[-ROWS:])]
        return found

    def _time(self, launch: Callable[..., None]) -> float:
        held = islice(cycle(self._sets), max(self._launches, len(self._sets)))
        replays = Replays(self._rt, self._stream, [partial(launch, **one) for one in held])
        (once,) = replays.milliseconds(1)
        count = max(LEAST, min(MOST, int(BUDGET_MS / max(once * replays.launches, 1e-3))))
        best: list[float] = []
        for _ in range(ATTEMPTS):
            taken = replays.milliseconds(count)
            if not best or _spread(taken) < _spread(best):
                best = taken
            if _spread(best) <= SPREAD:
                break
        return statistics.median(best) * 1e3


def _apart(expected: Sequence[Any], got: Sequence[Any]) -> float:
    """Greatest difference, relative to the greatest value; infinite where one has no number."""
    worst = 0.0
    for one, other in zip(expected, got, strict=True):
        a, b = (np.asarray(array, np.float64) for array in (one, other))
        if not np.array_equal(np.isfinite(a), np.isfinite(b)):
            return math.inf
        finite = np.isfinite(a)
        if finite.any():
            worst = max(worst, float(abs(a - b)[finite].max() / max(abs(a[finite]).max(), 1e-9)))
    return worst


def _spread(times: Sequence[float]) -> float:
    low, middle, high = statistics.quantiles(times, n=4)
    return (high - low) / middle
