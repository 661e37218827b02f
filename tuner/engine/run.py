"""Measure the settings of an engine in rounds, within a budget of time, into a journal."""

from __future__ import annotations

import gc
import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from xgr import __version__, env
from xgr.bench.engine import Work
from xgr.bench.model import Loaded
from xgr.ops import specs
from xgr.registry.source import source_hash
from xgr.runtime import Runtime
from xgr.tuner.engine.measure import Run, measure, parse
from xgr.tuner.engine.space import Setting, Space
from xgr.tuner.rows import Rows
from xgr.tuner.run import Progress, environment

# times that each setting is measured
ROUNDS = 2


@dataclass(frozen=True, slots=True)
class Asked:
    """What the settings are measured by.

    Attributes:
        model, catalog: names.
        work: requests and limits of batches.
        config: fields of `EngineConfig` other than those that are tuned and those of `work`.
        slo_ms: limit of P99 under load.
        requests: one at a time, at most.
    """

    model: str
    catalog: str
    work: Work
    config: Mapping[str, Any] = field(default_factory=dict)
    slo_ms: float = 200.0
    requests: int = 100


def tune(
    rt: Runtime,
    loaded: Loaded,
    asked: Asked,
    found: Space,
    path: Path,
    budget: float,
    rounds: int = ROUNDS,
    progress: Progress = lambda done, total, left: None,
) -> Rows[Run]:
    """Measure what the journal lacks.

    Args:
        rt: the device.
        loaded: model and catalogue.
        asked: what is measured.
        found: settings.
        path: the journal.
        budget: seconds; the setting that is being measured is finished.
        rounds: times that each setting is measured.
        progress: told after every one.

    Raises:
        InputError: the journal is of another device, model or work; a kernel was forced.
    """
    end = time.monotonic() + budget
    journal = Rows(path, identity(rt, loaded, asked), {"environment": environment(rt)}, parse)
    # what failed is tried again: memory may have become free
    done = {(run.setting, run.turn) for run in journal.rows if not run.failed}
    todo = [one for one in order(found.settings, rounds) if one not in done]
    out = set[Setting]()
    start = time.monotonic()
    for count, (setting, turn) in enumerate(todo):
        if time.monotonic() >= end:
            break
        if setting not in out:
            run = measure(
                rt, loaded, asked.work, asked.config, setting,
                turn=turn, slo_ms=asked.slo_ms, requests=asked.requests,
            )  # fmt: skip
            gc.collect()  # the engines of the next have the memory of these
            journal.append(run, run.to_json())
            out |= {setting} if run.failed else set()
        each = (time.monotonic() - start) / (count + 1)
        left = min(each * (len(todo) - count - 1), end - time.monotonic())
        behind = len(done) + count + 1
        progress(behind, len(done) + len(todo), max(0.0, left))
    return journal


def order(settings: Sequence[Setting], rounds: int) -> Iterator[tuple[Setting, int]]:
    """The rounds, each begun elsewhere: no setting is always the one before the clock has risen."""
    for turn in range(rounds):
        begin = turn * len(settings) // rounds
        yield from ((one, turn) for one in (*settings[begin:], *settings[:begin]))


def identity(rt: Runtime, loaded: Loaded, asked: Asked) -> dict[str, Any]:
    """What the rows of a journal have in common."""
    shape = loaded.decoder.config
    return {
        "journal": 1,
        "space": "engine",
        "device": rt.backend.device,
        "family": rt.backend.family,
        "cores": rt.backend.cores,
        "model": asked.model,
        "layers": shape.num_layers,
        "hidden_size": shape.hidden_size,
        "dtype": loaded.decoder.dtype.name,
        "catalog": asked.catalog,
        "level_sizes": list(loaded.catalogue.level_sizes),
        **asdict(asked.work),
        "config": dict(asked.config),
        "slo_ms": asked.slo_ms,
        "tables": Path(env.read().tables).name,
        "xgr": __version__,
        "sources": _sources(rt),
    }


def _sources(rt: Runtime) -> str:
    """A hash of the kernels: an engine runs most of them."""
    kernels = sorted((k.name, k.op, source_hash(k)) for op in specs() for k in rt.kernels(op))
    return hashlib.sha256(repr(kernels).encode()).hexdigest()[:16]
