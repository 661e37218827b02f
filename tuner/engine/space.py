"""Which settings of an engine are worth measuring on a device, by rule, and why others are not."""

from __future__ import annotations

import gc
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xgr.bench.engine import Work, start_lanes
from xgr.bench.model import Loaded
from xgr.conformance.replays import on_device
from xgr.engine import EngineConfig
from xgr.engine.layout import round_up, token_bucket
from xgr.engine.state import KVCache
from xgr.errors import InputError
from xgr.runtime import Runtime

# lanes of a device that runs by itself: each has all of its cores, and memory of its own
MOST_LANES = 4

# what a device without enough memory raises, torch's own error among it
NO_MEMORY = (InputError, MemoryError, RuntimeError)


@dataclass(frozen=True, slots=True, order=True)
class Setting:
    """A candidate.

    Attributes:
        lanes: engines side by side.
        graph_tokens: see `EngineConfig`.
    """

    lanes: int
    graph_tokens: int

    def __str__(self) -> str:
        """As keywords of `Recommender.from_pretrained`."""
        return f"lanes={self.lanes}, graph_tokens={self.graph_tokens}"


@dataclass(frozen=True, slots=True)
class Space:
    """The settings of a device.

    Attributes:
        settings: what is measured, the default first and the others in no order, so that every
            beginning has some of all.
        refused: why others are not.
    """

    settings: Sequence[Setting]
    refused: Mapping[Setting, str] = field(default_factory=dict)


def default(rt: Runtime) -> Setting:
    """What an engine has unless the caller says otherwise."""
    return Setting(rt.backend.default_lanes, EngineConfig().graph_tokens)


def space(rt: Runtime, work: Work, lane_bytes: int, most_lanes: int | None = None) -> Space:
    """The settings that differ in what they do and fit the memory that is free now.

    Args:
        rt: the device, with the weights on it.
        work: what is asked.
        lane_bytes: device memory that a lane takes.
        most_lanes: greatest number of lanes; the device's own when None.
    """
    found, refused = list[Setting](), dict[Setting, str]()
    free = rt.memory().free
    for lanes in _lanes(rt, most_lanes):
        reason = ""
        if lanes * lane_bytes > free:
            reason = (
                f"{lanes} lanes take {_mb(lanes * lane_bytes)}, {_mb(free)} are free: "
                "give a smaller --max-requests"
            )
        elif not on_device(rt) and lanes > max(rt.backend.cores, rt.backend.default_lanes):
            reason = f"lanes share the {rt.backend.cores} cores of {rt.backend.device}"
        for tokens in _graph_tokens(rt, work):
            if reason:
                refused[Setting(lanes, tokens)] = reason
            else:
                found.append(Setting(lanes, tokens))
    first = default(rt)
    random.Random(0).shuffle(found)
    return Space(sorted(found, key=lambda one: one != first), refused)


def lane_bytes(rt: Runtime, loaded: Loaded, work: Work, config: Mapping[str, Any]) -> int:
    """Bytes that a lane takes before it has served: one is started, looked at and dropped.

    Raises:
        InputError: not even one lane fits.
    """
    before = rt.memory().used
    try:
        lanes = start_lanes(rt, loaded.decoder, loaded.token_ids, work, 1, **config)
    except NO_MEMORY as error:
        raise InputError(f"one lane cannot be started: {error}") from error
    rt.synchronize()
    grown = rt.memory().used - before
    limits, depth = lanes.engines[0].config, lanes.engines[0].depth
    del lanes
    gc.collect()
    # a host counts pages when they are written, and the K/V of a lane that never served are not
    tokens = round_up(limits.max_tokens, rt.backend.arena_granule)
    rows = round_up(limits.max_rows, rt.backend.row_granule)
    model = loaded.decoder
    return max(grown, KVCache.nbytes(model.config, model.dtype, tokens, rows, max(1, depth - 1)))


def _lanes(rt: Runtime, most: int | None) -> Sequence[int]:
    backend = rt.backend
    if on_device(rt):
        counts = set(range(1, (most or MOST_LANES) + 1))
    else:
        # lanes divide the cores: numbers between powers of two divide them unevenly
        end = most or backend.cores
        counts = {1 << at for at in range(end.bit_length())} | {end}
    return sorted(counts | {backend.default_lanes})


def _graph_tokens(rt: Runtime, work: Work) -> Sequence[int]:
    """0 and powers of two, one for each set of batches that is captured."""
    own = EngineConfig().graph_tokens
    if not on_device(rt):
        return [own]  # graphs are the calls themselves
    prefills = [token_bucket(size * work.prompt_tokens, rt.backend) for size in work.sizes]
    powers = [1 << at for at in range((prefills[-1] - 1).bit_length() + 1)]
    kept = dict[int, int]()
    for value in (own, 0, *powers):
        kept.setdefault(sum(tokens <= value for tokens in prefills), value)
    return sorted(kept.values())


def _mb(size: int) -> str:
    return f"{size / 1e6:.1f} MB"
