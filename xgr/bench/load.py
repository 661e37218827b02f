"""Load on a server: closed and open loop, and the greatest rate at which it keeps its promise.

A request's latency begins when it arrives, not when a batch takes it: what waits in the queue is
counted, and an arrival that the generator handles late is counted from its own time.
"""

from __future__ import annotations

import gc
import math
import queue
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# the search ends when the least rate missed is within this ratio of the greatest kept
_CLOSE: Final = 1.025


class Server(Protocol):
    """What is loaded."""

    @property
    def places(self) -> int:
        """Batches that it takes at once."""
        ...

    @property
    def sizes(self) -> Sequence[int]:
        """Requests that a batch may have: 1, and others."""
        ...

    def submit(self, requests: Sequence[Any]) -> Future[Any]:
        """Serve one batch: an outcome for each request, an exception in the place of a failed one.

        Called by one thread; the future is done when the outcomes are on the host.
        """
        ...


@dataclass(frozen=True)
class Load:
    """What happened to a number of requests; times in seconds from the start.

    Attributes:
        arrived: [n], when each request came.
        answered: [n], when its outcome was on the host.
        failed: requests whose outcome is an error.
        batches: size of each batch in the order of launch.
        warm_up, cool_down: how many of the first and of the last requests are left out of the
            figures.
    """

    arrived: Floats
    answered: Floats
    failed: int
    batches: Sequence[int]
    warm_up: int = 0
    cool_down: int = 0

    @property
    def latency_ms(self) -> Floats:
        """Milliseconds from arrival to answer of the requests that count."""
        spent: Floats = (self.answered - self.arrived)[self._counted] * 1e3
        return spent

    @property
    def seconds(self) -> float:
        """From the first arrival that counts to the last answer that does."""
        return float(self.answered[self._counted].max() - self.arrived[self.warm_up])

    @property
    def rate(self) -> float:
        """Requests answered a second, between the first answer that counts and the last."""
        answers = self.answered[self._counted]
        first, last = answers.min(), answers.max()
        if first == last:
            return len(answers) / self.seconds
        between = (self.answered > first) & (self.answered <= last)
        return float(between.sum() / (last - first))

    @property
    def _counted(self) -> slice:
        return slice(self.warm_up, len(self.arrived) - self.cool_down)

    def p(self, share: float) -> float:
        """A percentile of the latency, in milliseconds."""
        return percentile(self.latency_ms, share)

    def summary(self) -> dict[str, Any]:
        """The figures of a record."""
        return {
            "requests": len(self.latency_ms),
            "failed": self.failed,
            "seconds": round(self.seconds, 3),
            "requests_per_s": round(self.rate, 2),
            **percentiles(self.latency_ms),
            "mean_batch": round(float(np.mean(self.batches)), 2),
        }


def percentile(values: Sequence[float] | Floats, share: float) -> float:
    """The least value that at least `share` per cent of the values do not exceed."""
    return float(np.percentile(values, share, method="inverted_cdf"))


def percentiles(values: Sequence[float] | Floats) -> dict[str, float]:
    """P50, P90, P99, mean and maximum of milliseconds, as a record has them."""
    shares = {f"p{share}_ms": percentile(values, share) for share in (50, 90, 99)}
    whole = {**shares, "mean_ms": float(np.mean(values)), "max_ms": float(np.max(values))}
    return {name: round(value, 3) for name, value in whole.items()}


def closed_loop(server: Server, requests: Sequence[Any], concurrency: int) -> Load:
    """Serve requests with always `concurrency` of them under way: each answer is a new arrival.

    Of more than thrice as many requests the first and last `concurrency` do not count, while the
    load grows and falls.
    """
    edge = concurrency if len(requests) > 3 * concurrency else 0
    return _Run(server, requests).go(None, concurrency, edge, edge)


def open_loop(
    server: Server, requests: Sequence[Any], arrivals: Sequence[float] | Floats, warm_up: int = 0
) -> Load:
    """Serve requests that come at given times, whether or not the server keeps up.

    Args:
        server: takes a batch whenever it has a place; nothing waits for a batch to fill.
        requests: distinct ones.
        arrivals: seconds from the start, ascending, one a request.
        warm_up: how many of the first requests are left out of the figures.
    """
    return _Run(server, requests).go(np.asarray(arrivals, np.float64), 0, warm_up, 0)


def poisson(rate: float, count: int, seed: int = 0) -> Floats:
    """Arrival times of a Poisson process of `rate` a second."""
    return np.random.default_rng(seed).exponential(1 / rate, count).cumsum()


@dataclass(frozen=True)
class Saturation:
    """The greatest rate found.

    Attributes:
        rate: arrivals a second that were offered in the run.
        run: the full run at that rate; it may have missed its promise.
        kept: every request was answered without error and P99 was within the limit.
        closed: requests a second of the closed loop that the search began from.
        probes: (rate, P99 in ms, kept) of each short run.
    """

    rate: float
    run: Load
    kept: bool
    closed: float
    probes: Sequence[tuple[float, float, bool]]

    def summary(self) -> dict[str, Any]:
        """The figures of a record."""
        return {
            "offered_per_s": round(self.rate, 2),
            "kept": self.kept,
            **self.run.summary(),
            "closed_loop_per_s": round(self.closed, 2),
            "probes": [list(probe) for probe in self.probes],
        }


def saturate(
    capacity: float,
    probe: Callable[[float], Load],
    run: Callable[[float], Load],
    slo_ms: float,
    *,
    probes: int = 5,
    again: int = 1,
    say: Callable[[str], None] = lambda line: None,
) -> Saturation:
    """Search the greatest rate whose P99 is within a limit, then measure a full run at it.

    The probes start near the capacity, go up or down until one kept and one missed its promise, and
    halve the interval from there. A short probe shows little of a queue that grows slowly, so that
    the full run is at 0.97 of the greatest rate kept and at most at 0.97 of the capacity.

    Args:
        capacity: requests a second of a closed loop that is never idle.
        probe: a short open-loop run at a rate.
        run: the full run at a rate.
        slo_ms: the limit of P99.
        probes: how many short runs at most.
        again: full runs that may follow one that missed its promise, each at 0.95 of its rate.
        say: told each step.
    """

    def measured(what: str, rate: float, load: Load) -> bool:
        kept = load.failed == 0 and load.p(99) <= slo_ms
        say(f"{what} at {rate:.1f}/s: P99 {load.p(99):.1f} ms, {'kept' if kept else 'missed'}")
        return kept

    low, high, tried = 0.0, math.inf, []
    rate = 0.94 * capacity
    for _ in range(probes):
        load = probe(rate)
        kept = measured("probe", rate, load)
        tried.append((round(rate, 2), round(load.p(99), 3), kept))
        low, high = (rate, high) if kept else (low, rate)
        if high < _CLOSE * low:
            break
        rate = 1.05 * low if high == math.inf else 0.85 * high if low == 0 else (low + high) / 2
    rate = min(0.97 * (low or rate), 0.97 * capacity)
    full = run(rate)
    while not (kept := measured("run", rate, full)) and again:
        again -= 1
        rate *= 0.95
        full = run(rate)
    return Saturation(rate, full, kept, capacity, tuple(tried))


class _Run:
    """One thread generates arrivals, forms batches and submits them; answers come by a queue."""

    def __init__(self, server: Server, requests: Sequence[Any]) -> None:
        self._server, self._requests = server, requests
        count = len(requests)
        self._arrived, self._answered = np.full(count, np.nan), np.full(count, np.nan)
        self._done: queue.SimpleQueue[tuple[Sequence[int], float, Future[Any]]]
        self._done = queue.SimpleQueue()
        self._waiting: deque[int] = deque()
        self._came = self._free = self._failed = 0
        self._batches: list[int] = []

    def go(self, arrivals: Floats | None, concurrency: int, warm_up: int, cool_down: int) -> Load:
        count, left = len(self._requests), len(self._requests)
        self._free = self._server.places
        with _no_collector():
            self._start = time.perf_counter()
            if arrivals is None:
                self._arrive(min(concurrency, count))
            while left:
                timeout = None
                if arrivals is not None:
                    self._arrive_by(arrivals)
                    if self._came < count:
                        timeout = max(0.0, float(arrivals[self._came]) - self._now())
                self._dispatch()
                try:
                    batch, at, future = self._done.get(timeout=timeout)
                except queue.Empty:
                    continue
                self._collect(batch, at, future)
                left -= len(batch)
                if arrivals is None:
                    self._arrive(min(len(batch), count - self._came))
        times = (self._arrived, self._answered)
        return Load(*times, self._failed, self._batches, warm_up, cool_down)

    def _now(self) -> float:
        return time.perf_counter() - self._start

    def _arrive(self, number: int) -> None:
        self._arrived[self._came : self._came + number] = self._now()
        self._waiting.extend(range(self._came, self._came + number))
        self._came += number

    def _arrive_by(self, arrivals: Floats) -> None:
        came = int(np.searchsorted(arrivals, self._now(), side="right"))
        self._arrived[self._came : came] = arrivals[self._came : came]
        self._waiting.extend(range(self._came, came))
        self._came = max(came, self._came)

    def _dispatch(self) -> None:
        while self._free and self._waiting:
            size = max(s for s in self._server.sizes if s <= len(self._waiting))
            batch = [self._waiting.popleft() for _ in range(size)]
            self._free -= 1
            self._batches.append(size)
            future = self._server.submit([self._requests[at] for at in batch])
            future.add_done_callback(partial(self._finished, batch))

    def _finished(self, batch: Sequence[int], future: Future[Any]) -> None:
        """In the thread that served the batch."""
        self._done.put((batch, self._now(), future))

    def _collect(self, batch: Sequence[int], at: float, future: Future[Any]) -> None:
        outcomes = future.result()  # an error of the server itself ends the run
        self._free += 1
        self._answered[list(batch)] = at
        self._failed += sum(isinstance(outcome, Exception) for outcome in outcomes)


@contextmanager
def _no_collector() -> Iterator[None]:
    """Keep the garbage collector from walking the prompts, which a client would hold elsewhere."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
