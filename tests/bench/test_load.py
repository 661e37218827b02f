from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from xgr.bench.load import (
    Load,
    closed_loop,
    open_loop,
    percentile,
    percentiles,
    poisson,
    saturate,
)


class Fake:
    """A server that answers a batch after a time."""

    def __init__(self, places: int, sizes: Sequence[int], seconds: float = 0.0) -> None:
        self.places, self.sizes, self.seconds = places, sizes, seconds
        self.batches: list[list[Any]] = []
        self._busy = 0
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(8)

    def submit(self, requests: Sequence[Any]) -> Future[list[Any]]:
        self.batches.append(list(requests))
        return self._pool.submit(self._serve, list(requests))

    def _serve(self, requests: list[Any]) -> list[Any]:
        with self._lock:
            self._busy += 1
            assert self._busy <= self.places
        time.sleep(self.seconds)
        with self._lock:
            self._busy -= 1
        return requests


def test_every_request_is_answered_once_in_batches_of_allowed_sizes() -> None:
    server = Fake(2, (1, 2, 4), 0.001)
    load = open_loop(server, list(range(60)), poisson(800, 60))
    assert sorted(at for batch in server.batches for at in batch) == list(range(60))
    assert {len(batch) for batch in server.batches} <= {1, 2, 4}
    assert list(load.batches) == [len(batch) for batch in server.batches]
    assert np.isfinite(load.answered).all()
    assert (load.answered > load.arrived).all()
    assert load.failed == 0


def test_latency_counts_from_the_arrival() -> None:
    """Requests that come while the server stands still have waited since they came."""
    server = Fake(1, (1, 8), seconds=0.3)
    arrivals = np.linspace(0.0, 0.2, 9)
    load = open_loop(server, list(range(9)), arrivals)
    assert load.arrived.tolist() == arrivals.tolist()
    assert server.batches == [[0], list(range(1, 9))]
    # the others came during the 300 ms of the first, and then took as long
    assert load.answered[0] >= 0.3
    assert (load.latency_ms[1:] >= 600 - 1e3 * arrivals[1:]).all()


def test_nothing_waits_while_a_place_is_free() -> None:
    server = Fake(1, (1, 64))
    open_loop(server, list(range(3)), [0.0, 0.15, 0.3])
    assert server.batches == [[0], [1], [2]]


def test_closed_loop_keeps_its_number_under_way() -> None:
    server = Fake(2, (1, 2), 0.002)
    load = closed_loop(server, list(range(40)), concurrency=4)
    assert sorted(at for batch in server.batches for at in batch) == list(range(40))
    events = [(at, 1) for at in load.arrived] + [(at, -1) for at in load.answered]
    under_way = np.cumsum([change for _, change in sorted(events)])
    assert under_way.max() == 4


def test_warm_up_is_left_out() -> None:
    arrived, answered = np.array([0.0, 1.0, 2.0, 2.0, 3.0]), np.array([9.0, 1.5, 2.1, 2.3, 3.5])
    load = Load(arrived, answered, 0, (1, 4), warm_up=1, cool_down=1)
    assert load.latency_ms.tolist() == pytest.approx([500, 100, 300])
    assert load.seconds == pytest.approx(1.3)
    assert load.rate == pytest.approx(2 / 0.8)
    assert load.summary()["p50_ms"] == pytest.approx(300)


def test_failed_requests_are_counted_and_errors_of_the_server_are_raised() -> None:
    class Failing(Fake):
        def _serve(self, requests: list[Any]) -> list[Any]:
            if -1 in requests:
                raise OSError("broken")
            return [ValueError("no") if at % 2 else at for at in requests]

    assert closed_loop(Failing(1, (1,)), list(range(6)), 1).failed == 3
    with pytest.raises(OSError, match="broken"):
        closed_loop(Failing(1, (1,)), [-1], 1)


def test_percentiles_are_values_that_occurred() -> None:
    values = list(range(1, 101))
    assert [percentile(values, share) for share in (50, 90, 99, 100)] == [50, 90, 99, 100]
    assert percentiles([3.0, 1.0]) == {
        "p50_ms": 1.0, "p90_ms": 3.0, "p99_ms": 3.0, "mean_ms": 2.0, "max_ms": 3.0
    }  # fmt: skip


def test_poisson_has_its_rate_and_its_seed() -> None:
    times = poisson(50, 20_000, seed=3)
    gaps = np.diff(times)
    assert times[-1] == pytest.approx(400, rel=0.03)
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.03)  # exponential
    assert (poisson(50, 9, seed=3) == times[:9]).all()
    assert (poisson(50, 9, seed=4) != times[:9]).all()


def queue_of(batch: int, seconds: float) -> Callable[[float, int], Load]:
    """A server that takes `seconds` for a batch of at most `batch`, without real time."""

    def run(rate: float, number: int) -> Load:
        arrived = poisson(rate, number, seed=round(rate))
        answered, sizes, at, free = np.empty(number), [], 0, 0.0
        while at < number:
            begin = max(free, arrived[at])
            came = int(np.searchsorted(arrived, begin, side="right"))
            size = max(1, min(batch, came - at))
            free = begin + seconds
            answered[at : at + size] = free
            sizes.append(size)
            at += size
        return Load(arrived, answered, 0, sizes)

    return run


@pytest.mark.parametrize("capacity_seen", [1.0, 0.9, 1.4])
def test_saturation_finds_the_capacity_of_a_server(capacity_seen: float) -> None:
    """16 requests in 50 ms are 320 a second; a wrong first guess is made good by the probes."""
    run = queue_of(16, 0.05)
    lines: list[str] = []
    found = saturate(
        320 * capacity_seen,
        lambda rate: run(rate, 900),
        lambda rate: run(rate, 6000),
        200,
        probes=9,
        say=lines.append,
    )
    assert found.kept
    assert found.run.p(99) <= 200
    assert 0.85 * 320 <= found.rate <= 320 * min(1, capacity_seen)
    assert len(lines) > len(found.probes)
    summary = found.summary()
    assert summary["kept"] is True
    assert summary["offered_per_s"] == round(found.rate, 2)


def test_a_promise_that_no_rate_keeps_is_said_to_be_missed() -> None:
    run = queue_of(16, 0.3)
    found = saturate(50, lambda rate: run(rate, 50), lambda rate: run(rate, 50), 200, again=1)
    assert not found.kept
    assert all(not kept for _, _, kept in found.probes)
    rates = [rate for rate, _, _ in found.probes]
    assert rates == sorted(rates, reverse=True)


def test_failures_miss_the_promise() -> None:
    load = Load(np.zeros(4), np.full(4, 0.01), 1, (4,))
    assert not saturate(10, lambda _: load, lambda _: load, 200, probes=1, again=0).kept
