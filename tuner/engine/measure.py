"""A setting under load: requests one at a time, and closed loops down to the limit of latency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from xgr.bench.engine import EngineServer, Work, closed, start_lanes
from xgr.bench.model import Loaded
from xgr.runtime import Runtime
from xgr.tuner.engine.space import NO_MEMORY, Setting
from xgr.tuner.rows import Head

# seconds that a loop takes at most, about; requests of one, in numbers of those under way
LOOP_SECONDS, REPEATS = 4.0, 8
# closed loops of a setting, each with fewer requests under way; how near the limit the next one is
# aimed, since latency grows with them
LOOPS, AIM = 4, 0.9
# figures of a closed loop without which it says nothing
FIGURES = ("concurrency", "failed", "p99_ms", "requests_per_s")


@dataclass(frozen=True, slots=True)
class Run:
    """A setting, measured once.

    Attributes:
        setting: lanes and graph_tokens.
        turn: the round.
        alone: figures of requests one at a time, see `xgr.bench.load.Load.summary`.
        loops: those of closed loops, with their concurrency, the greatest first.
        memory_bytes: device memory in use then.
        failed: why there are no figures; "" where there are.
    """

    setting: Setting
    turn: int
    alone: Mapping[str, float] = field(default_factory=dict)
    loops: Sequence[Mapping[str, float]] = ()
    memory_bytes: int = 0
    failed: str = ""

    def to_json(self) -> dict[str, Any]:
        """A line of the journal."""
        raw = asdict(self)
        return {**raw.pop("setting"), **raw}

    def within(self, slo_ms: float) -> Mapping[str, float] | None:
        """The loop of the greatest rate whose P99 is within a limit, None where there is none."""
        kept = [one for one in self.loops if not one["failed"] and one["p99_ms"] <= slo_ms]
        return max(kept, key=lambda one: one["requests_per_s"], default=None)


def parse(head: Head, raw: Any) -> Run:
    """The run of a line."""
    setting = Setting(int(raw["lanes"]), int(raw["graph_tokens"]))
    loops = [{name: one[name] for name in FIGURES} | one for one in raw["loops"]]
    return Run(
        setting, int(raw["turn"]), dict(raw["alone"]), loops, raw["memory_bytes"], raw["failed"]
    )


def measure(
    rt: Runtime,
    loaded: Loaded,
    work: Work,
    config: Mapping[str, Any],
    setting: Setting,
    *,
    turn: int,
    slo_ms: float,
    requests: int,
) -> Run:
    """Start engines, warm them up, load them and let go of them.

    Args:
        rt: the device.
        loaded: model and catalogue.
        work: what is asked.
        config: other fields of `EngineConfig`.
        setting: what is tried.
        turn: the round.
        slo_ms: limit of P99; loops that miss it are followed by smaller ones.
        requests: of the loop of one, at most.

    Raises:
        InputError: a kernel was forced.
    """
    try:
        settings = {**config, "graph_tokens": setting.graph_tokens}
        lanes = start_lanes(rt, loaded.decoder, loaded.token_ids, work, setting.lanes, **settings)
        server = EngineServer(lanes, loaded.catalogue, work)
        server.warm_up()
    except NO_MEMORY as error:
        rt.synchronize()  # raises where the device has failed for good
        return Run(setting, turn, failed=f"{type(error).__name__}: {error}".splitlines()[0])
    server.check_kernels()
    # a loop of one, not the engine itself: lanes divide what a request alone would have
    guess = closed(server, 3, 1).summary()["mean_ms"]
    alone = closed(server, _number(requests, guess, 1, 4), 1).summary()
    loops = list[Mapping[str, float]]()
    under_way = (server.places + 1) * work.max_requests  # never idle
    while under_way and len(loops) < LOOPS:
        least = under_way + 1  # more than thrice as many with both edges, which do not count
        number = _number(REPEATS * under_way, alone["mean_ms"], server.places, least)
        loop = closed(server, number, under_way).summary()
        loops.append({"concurrency": under_way, **loop})
        over = loop["p99_ms"] / slo_ms
        under_way = 0 if over <= 1 else min(under_way - 1, max(1, int(AIM * under_way / over)))
    return Run(setting, turn, alone, loops, rt.memory().used)


def _number(most: int, mean_ms: float, places: int, least: int) -> int:
    """Requests that take no longer than a loop shall, unless `least` do."""
    return max(least, min(most, int(LOOP_SECONDS * 1e3 / max(mean_ms, 1e-3) * places)))
