"""The engine under measurement: latency of requests alone, throughput under load, memory.

Prompts are random SIDs of the model's codes, all distinct. A request is timed from its token ids to
its item ids on the host.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from xgr.bench.load import (
    Load,
    Saturation,
    closed_loop,
    open_loop,
    percentile,
    percentiles,
    poisson,
    saturate,
)
from xgr.catalog import Catalogue
from xgr.engine import Engine, EngineConfig, Recommendations, Request
from xgr.engine.lanes import Lanes
from xgr.engine.request import is_count
from xgr.errors import InputError, RequestFailed
from xgr.models.decoder import Decoder
from xgr.runtime import Runtime

Say = Callable[[str], None]
TokenIds = Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True)
class Work:
    """What is asked, and how it may be batched.

    Attributes:
        beam_width: beams of every request, at all levels.
        prompt_tokens: tokens of every prompt.
        k: items wanted; as many as beams when None.
        max_requests: requests of one batch.
    """

    beam_width: int = 128
    prompt_tokens: int = 1024
    k: int | None = None
    max_requests: int = 16

    def limits(self, rt: Runtime) -> dict[str, int]:
        """Fields of `EngineConfig` that hold batches of `max_requests`, and no more."""
        # the paged baseline begins prompts at a block
        granule = math.lcm(rt.backend.arena_granule, EngineConfig().block_tokens)
        tokens = -(-self.prompt_tokens // granule) * granule
        return {
            "max_tokens": tokens * self.max_requests,
            "max_rows": self.beam_width * self.max_requests,
            "max_requests": self.max_requests,
        }

    @property
    def sizes(self) -> list[int]:
        """Requests that batches have: 1, 2, 3, 4, 6, 8, 12, ... and `max_requests`."""
        most = self.max_requests
        steps = (step << at for at in range(most.bit_length()) for step in (1, 3))
        return sorted({*(size for size in steps if size < most), most})


def start_lanes(
    rt: Runtime,
    decoder: Decoder,
    token_ids: TokenIds,
    work: Work,
    lanes: int | None = None,
    **config: Any,
) -> Lanes:
    """Engines for the work; `lanes` as the backend has it when None, `config` of `EngineConfig`.

    Raises:
        InputError: a field that EngineConfig lacks, a value that it refuses, or `lanes` that are
            no whole number of at least 1.
    """
    try:
        settings = EngineConfig(**{**work.limits(rt), **config})
    except TypeError as error:
        known = ", ".join(EngineConfig.__dataclass_fields__)
        raise InputError(f"{sorted(config)} are not all known; known: {known}") from error
    number = rt.backend.default_lanes if lanes is None else lanes
    if not is_count(number):
        raise InputError(f"lanes is {lanes!r}, need a whole number of at least 1, or None")
    return Lanes([Engine(rt.lane(), decoder, token_ids, settings) for _ in range(number)])


class EngineServer:
    """Lanes over one catalogue as a `xgr.bench.load.Server`.

    Batches have 1, 2, 3, 4, 6, 8, 12, ... or `max_requests` requests: few programs serve them all.

    Attributes:
        places: batches that may be on their way at once.
        sizes: requests that a batch may have.
    """

    def __init__(self, lanes: Lanes, catalogue: Catalogue, work: Work) -> None:
        self.lanes, self.catalogue, self.work = lanes, catalogue, work
        self._engine = lanes.engines[0]
        self.places = len(lanes.engines) * self._engine.rt.backend.in_flight
        self.sizes = work.sizes
        self._seeds = count(1)

    def requests(self, number: int) -> list[Request]:
        """New requests, distinct from all before."""
        work, levels = self.work, self._engine.token_ids
        rng = np.random.default_rng(next(self._seeds))
        tokens = np.empty((number, work.prompt_tokens), np.int64)
        for level, ids in enumerate(levels):
            place = tokens[:, level :: len(levels)]
            place[:] = np.asarray(ids)[rng.integers(0, len(ids), place.shape)]
        k = work.k or work.beam_width
        return [Request(prompt, work.beam_width, k) for prompt in tokens.tolist()]

    def submit(self, requests: Sequence[Request]) -> Future[list[Recommendations | RequestFailed]]:
        """Check the requests and serve them as one batch."""
        prepared = [self._engine.prepare(request, self.catalogue) for request in requests]
        return self.lanes.submit(prepared, self.catalogue)

    def warm_up(self) -> None:
        """Every size of batch twice in every place: programs are made, kernels compiled."""
        for size in self.sizes:
            for _ in range(2):
                for future in [self.submit(self.requests(size)) for _ in range(self.places)]:
                    future.result()

    def check_kernels(self, allow_forced: bool = False) -> dict[str, list[str]]:
        """The kernels that serve, by op.

        Raises:
            InputError: one was forced (XGR_KERNEL), or is not chosen by default.
        """
        names: dict[str, set[str]] = {}
        for choice in self._choices():
            kernel, op, name = choice.kernel, choice.problem.op, choice.name
            names.setdefault(op, set()).add(name)
            forced = choice.forced or (kernel is not None and tuple(kernel.auto(choice.problem)))
            if forced and not allow_forced:
                raise InputError(
                    f"{op} ran on {name} ({choice.source}), which is not the kernel by default: "
                    "unset XGR_KERNEL, or pass --allow-forced to report the run all the same"
                )
        return {op: sorted(used) for op, used in sorted(names.items())}

    def _choices(self) -> Iterator[Any]:
        for engine in self.lanes.engines:
            yield from engine.rt.choices()


@dataclass(frozen=True)
class Latency:
    """Milliseconds of requests served one at a time, each [n].

    Attributes:
        total: from token ids to item ids on the host.
        parts: its consecutive parts on the host: "prepare", "launch", under which the device
            begins, and "collect", the wait for the device and the making of the results.
        device: "prefill" and "decode" by the device's clock, which run under "launch" and
            "collect"; the decode begins where the prefill ends and waits for its launch.
    """

    total: Sequence[float]
    parts: Mapping[str, Sequence[float]]
    device: Mapping[str, Sequence[float]]

    def summary(self) -> dict[str, Any]:
        """The figures of a record."""
        parts, device = (
            {name: round(percentile(ms, 50), 3) for name, ms in times.items()}
            for times in (self.parts, self.device)
        )
        whole = {"requests": len(self.total), **percentiles(self.total)}
        return {**whole, "parts_p50_ms": parts, "device_p50_ms": device}


def latency(server: EngineServer, number: int, warm_up: int = 10) -> Latency:
    """Serve requests one at a time in the calling thread.

    Raises:
        RequestFailed: the model gave NaN.
    """
    engine, catalogue = server.lanes.engines[0], server.catalogue
    begin, between, end = engine.events = (engine.rt.event(), engine.rt.event(), engine.rt.event())
    marks, spans = [], []
    try:
        for request in server.requests(warm_up + number):
            at = [time.perf_counter()]
            prepared = engine.prepare(request, catalogue)
            at.append(time.perf_counter())
            launched = engine.launch([prepared], catalogue)
            at.append(time.perf_counter())
            outcome = engine.collect(launched)[0]
            at.append(time.perf_counter())
            if isinstance(outcome, RequestFailed):
                raise outcome
            marks.append(at)
            end.synchronize()
            spans.append((between.elapsed_ms(begin), end.elapsed_ms(between)))
    finally:
        engine.events = None
    host = np.diff(np.asarray(marks[warm_up:]), axis=1) * 1e3
    parts = dict(zip(("prepare", "launch", "collect"), host.T.tolist(), strict=True))
    device = np.asarray(spans[warm_up:]).T.tolist()
    return Latency(
        host.sum(axis=1).tolist(), parts, dict(zip(("prefill", "decode"), device, strict=True))
    )


def closed(server: EngineServer, number: int, concurrency: int) -> Load:
    """A closed loop of which `number` requests count."""
    return closed_loop(server, server.requests(number + 2 * concurrency), concurrency)


def at_rate(server: EngineServer, rate: float, seconds: float, least: int = 1) -> Load:
    """An open loop: Poisson arrivals for `seconds` and at least `least` requests.

    Its first tenth (at most two seconds) is repeated before it and left out of the figures.
    """
    number = max(round(rate * seconds), least, 1)
    warm_up = min(round(2 * rate), number // 10)
    arrivals = poisson(rate, warm_up + number, seed=round(rate * 100))
    return open_loop(server, server.requests(warm_up + number), arrivals, warm_up)


def saturated(
    server: EngineServer,
    slo_ms: float,
    *,
    seconds: float = 20.0,
    least: int = 3000,
    probes: int = 5,
    probe_seconds: float = 3.0,
    again: int = 1,
    say: Say = lambda line: None,
) -> Saturation:
    """The greatest rate with P99 within `slo_ms`, measured for `seconds` and `least` requests."""
    busy = (server.places + 1) * server.work.max_requests
    loop = closed(server, 8 * busy, busy)
    say(f"closed loop of {busy}: {loop.rate:.1f}/s, P99 {loop.p(99):.1f} ms")
    return saturate(
        loop.rate,
        lambda rate: at_rate(server, rate, probe_seconds),
        lambda rate: at_rate(server, rate, seconds, least),
        slo_ms,
        probes=probes,
        again=again,
        say=say,
    )


class MemoryLedger:
    """Device memory by what took it, from the growth of what is in use."""

    def __init__(self, rt: Runtime) -> None:
        self._rt = rt
        self._used = rt.memory().used
        self._rows: dict[str, int] = {}

    def note(self, name: str) -> None:
        """What was taken since the last note is `name`'s."""
        self._rt.synchronize()
        used = self._rt.memory().used
        self._rows[name] = self._rows.get(name, 0) + used - self._used
        self._used = used

    def summary(self) -> dict[str, int]:
        """Bytes by name, all that is in use now, and the peak of the device's allocator."""
        memory = self._rt.memory()
        return {**self._rows, "in_use": memory.used, "peak": memory.peak}
