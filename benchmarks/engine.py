"""The engine against its bars: memory of 4B, forwards alone, requests alone, load on 0.6B.

Random weights of published shapes, a random catalogue of a million items over 3 x 8192 codes,
distinct prompts of 1024 tokens, every beam's item returned. One process and one model of each size;
the record is written after every part. A short `--budget` leaves out probes, repetitions and whole
runs, and says which; the windows that are measured keep their length.

    python -m benchmarks.engine --device cuda --json benchmarks/results/engine.json
"""

from __future__ import annotations

import argparse
import gc
import statistics
import time
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks._command import positive, run_main, writable
from xgr.bench import record, synthetic
from xgr.bench.engine import EngineServer, MemoryLedger, Work, latency, saturated, start_lanes
from xgr.catalog.synthetic import random_catalogue
from xgr.cli.output import print_table
from xgr.engine.layout import Layout, round_up
from xgr.engine.state import BatchState, KVCache
from xgr.models.activations import Activations, Workspace
from xgr.models.decoder import Decoder, Forward, Prefill, Rows
from xgr.ops.dtype import int32
from xgr.runtime import Runtime, runtime

PARTS = ("memory", "forwards", "level", "vocab")
DEPTH = 3
# what is judged -> (bar, goal); rates must be at least this, everything else at most
BARS: dict[str, tuple[float, float]] = {
    "4B, 512 beams: peak GB": (9.2, 8.75),
    "prefill 1 x 1024: ms": (2.4, 1.9),
    "decode forward, 128 beams: ms": (1.5, 1.1),
    "decode forward, 512 beams: ms": (2.2, 1.8),
    "level, 128 beams, alone: P50 ms": (5.8, 4.0),
    "level, 512 beams, alone: P50 ms": (7.2, 6.0),
    "level, 128 beams: requests/s": (300, 400),
    "level, 256 beams: requests/s": (240, 310),
    "level, 512 beams: requests/s": (185, 220),
}


@dataclass(frozen=True)
class Scale:
    """What is run; `TINY` goes through every line of this file on a CPU."""

    small: str = "qwen3-0.6b"
    large: str = "qwen3-4b"
    catalog: str = "random:1M:3x8192"
    widths: tuple[int, ...] = (128, 256, 512)
    prompt_tokens: int = 1024
    max_requests: int = 16
    alone: int = 200
    slo_ms: float = 200.0
    seconds: float = 20.0
    least: int = 3000
    vocab_seconds: float = 8.0
    probe_seconds: float = 3.0
    repeats: int = 50


TINY = Scale(
    "qwen3-tiny", "qwen3-tiny", "random:300:3x16", (2, 3), 5, 1, 3, 1e5, 0.1, 4, 0.1, 0.02, 2
)


class Session:
    """One run: the clock, what was found, what was cut."""

    def __init__(self, rt: Runtime, scale: Scale, args: argparse.Namespace) -> None:
        self.rt, self.scale, self.args = rt, scale, args
        self.catalogue = random_catalogue(scale.catalog)
        self.results: dict[str, Any] = {}
        self.figures: dict[str, float] = {}
        self.cut: list[str] = []
        self._start = time.perf_counter()

    @property
    def left(self) -> float:
        """Seconds of the budget."""
        budget: float = self.args.budget
        return budget - (time.perf_counter() - self._start)

    def say(self, line: str) -> None:
        """Progress."""
        print(f"[{time.perf_counter() - self._start:6.1f} s] {line}", flush=True)

    def leave_out(self, what: str) -> None:
        """Note what the budget did not allow."""
        self.cut.append(what)
        self.say(f"left out: {what}")

    def load(self, name: str) -> Decoder:
        """A model on the device."""
        kind = "float32" if self.rt.device == "cpu" else "bfloat16"
        decoder = synthetic.decoder(self.rt, name, self.catalogue.level_sizes, dtype=kind)
        self.rt.synchronize()
        self.say(f"{name} is loaded")
        return decoder

    def server(self, decoder: Decoder, name: str, work: Work, **config: Any) -> EngineServer:
        """Engines that have served every size of batch."""
        ids = synthetic.code_tokens(name, self.catalogue.level_sizes)
        lanes = start_lanes(self.rt, decoder, ids, work, self.args.lanes, **config)
        server = EngineServer(lanes, self.catalogue, work)
        server.warm_up()
        self.say(f"{work.beam_width} beams {config or ''}: warm, {server.places} places")
        self.results["kernels"] = server.check_kernels()
        return server

    def save(self) -> None:
        """Write what there is."""
        if self.args.json is None:
            return
        settings = {
            "device": self.rt.backend.probe().summary,
            "parts": self.args.parts,
            "budget_s": self.args.budget,
            "tiny": self.args.tiny,
        }
        whole = {**self.results, "figures": self.figures, "cut": self.cut}
        record.write(self.args.json, "engine", whole, settings=settings)


def main(argv: Sequence[str] | None = None) -> None:
    args = _arguments(argv)
    scale = TINY if args.tiny else Scale()
    if args.max_requests is not None:
        scale = replace(scale, max_requests=args.max_requests)
    session = Session(runtime(args.device), scale, args)
    if "memory" in args.parts:  # first: the peak is that of the process
        measure_memory(session)
        session.save()
        gc.collect()
    if set(args.parts) - {"memory"}:
        decoder = session.load(scale.small)
        if "forwards" in args.parts:
            measure_forwards(session, decoder)
            session.save()
        for normalize in ("level", "vocab"):
            if normalize in args.parts:
                measure_load(session, decoder, normalize)
    session.save()
    print_table(("what", "measured", "bar", "goal", ""), _judged(session.figures))
    for what in session.cut:
        print(f"left out: {what}")


def measure_memory(session: Session) -> None:
    """Peak of one request at the widest beam, and the growth from the narrowest to it."""
    scale = session.scale
    ledger = MemoryLedger(session.rt)
    decoder = session.load(scale.large)
    ledger.note("weights")
    grown = {}
    # the first leaves what libraries keep for its streams and threads, which the others find there
    for width in (scale.widths[0], scale.widths[-1], scale.widths[0]):
        before = session.rt.memory().used
        work = Work(width, scale.prompt_tokens, max_requests=1)
        server = session.server(decoder, scale.large, work, normalize="level")
        latency(server, 3, warm_up=0)
        if width == scale.widths[-1]:
            ledger.note("catalogue, arena, workspaces, graphs")
            session.results["memory_bytes"] = ledger.summary()
        grown[width] = session.rt.memory().used - before
        del server
        gc.collect()
    narrow, wide = scale.widths[0], scale.widths[-1]
    c = decoder.config
    beam = (grown[wide] - grown[narrow]) / (wide - narrow)
    allowed = (DEPTH - 1) * 2 * c.num_layers * c.num_kv_heads * c.head_dim * 2 + (64 << 10)
    session.results["bytes_per_beam"] = {"measured": round(beam), "bar": allowed}
    session.say(f"a beam takes {beam:,.0f} bytes more, the bar is {allowed:,}")
    peak = session.results["memory_bytes"]["peak"]
    session.figures[f"4B, {wide} beams: peak GB"] = round(peak / 1e9, 3)


def measure_forwards(session: Session, decoder: Decoder) -> None:
    """One prefill, and one forward of all beams with two own tokens each, by the device's clock."""
    scale = session.scale
    narrow, wide = scale.widths[0], scale.widths[-1]
    session.rt.synchronize()
    stream = session.rt.stream()
    with stream:
        for width in (narrow, wide):
            prefill, forward = _forwards(session.rt, decoder, width, scale.prompt_tokens)
            timed = {f"decode forward, {width} beams: ms": forward}
            if width == narrow:
                timed[f"prefill 1 x {scale.prompt_tokens}: ms"] = prefill
            for what, launch in timed.items():
                ms = _median_ms(session.rt, stream, launch, scale.repeats)
                session.figures[what] = ms
                session.say(f"{what.removesuffix(': ms')}: {ms} ms")


def measure_load(session: Session, decoder: Decoder, normalize: str) -> None:
    """Each width: requests alone, then the greatest rate within the limit."""
    scale, level = session.scale, normalize == "level"
    seconds = scale.seconds if level else scale.vocab_seconds
    found = session.results.setdefault(normalize, {})
    for at, width in enumerate(scale.widths):
        name = f"{normalize}, {width} beams"
        # a run, its warm-up and the programs; vocab, which has no bar, must leave room for level
        if session.left < seconds + 15:
            session.leave_out(f"{name}: {session.left:.0f} s are left of the budget")
            continue
        work = Work(width, scale.prompt_tokens, max_requests=scale.max_requests)
        server = session.server(decoder, scale.small, work, normalize=normalize)
        alone = latency(server, scale.alone, warm_up=min(10, scale.alone)).summary()
        session.figures[f"{name}, alone: P50 ms"] = alone["p50_ms"]
        session.say(f"alone: {alone}")
        share = session.left / (len(scale.widths) - at)
        probes, again = (5, 1) if level else (3, 0)
        if share < 1.2 * seconds + probes * (scale.probe_seconds + 0.5) + again * seconds:
            again = 0
        while probes > 2 and share < 1.2 * seconds + probes * (scale.probe_seconds + 0.5):
            probes -= 1
        if (probes, again) != ((5, 1) if level else (3, 0)):
            session.leave_out(f"{name}: all but {probes} probes and {again} repetitions")
        run = saturated(
            server,
            scale.slo_ms,
            seconds=seconds,
            least=scale.least if level else 1,
            probes=probes,
            probe_seconds=scale.probe_seconds,
            again=again,
            say=session.say,
        )
        found[str(width)] = {"alone": alone, "saturated": run.summary()}
        if run.kept:
            answered = min(run.rate, run.run.rate)  # no luck of the draw above what was offered
            session.figures[f"{name}: requests/s"] = round(answered, 1)
        else:
            session.leave_out(f"{name}: no rate kept P99 within {scale.slo_ms:g} ms")
        session.save()
        del server
        gc.collect()


def _forwards(
    rt: Runtime, decoder: Decoder, width: int, prompt: int
) -> tuple[Callable[[], object], Callable[[], object]]:
    """What launches the prefill of one prompt, and a forward of its beams over it."""
    backend, config = rt.backend, decoder.config
    rows, requests = round_up(width, backend.row_granule), backend.request_granule
    tokens, slots = round_up(prompt, backend.token_granule), DEPTH - 1
    padding = [0] * (requests - 1)
    layout = Layout(
        count=1,
        requests=requests,
        rows=rows,
        tokens=tokens,
        arena=tokens,
        row_start=[0, width] + [width] * len(padding),
        q_start=[0, prompt] + [prompt] * len(padding),
        prompt_start=[0, *padding],
        prompt_len=[prompt, *padding],
        widths=[[width, *padding]] * DEPTH,
    )
    rng = np.random.default_rng(0)
    state = BatchState(rt, requests, DEPTH, tokens)
    state.write(layout, array("i", rng.integers(0, config.vocab_size, tokens).tolist()))
    arena = round_up(prompt, backend.arena_granule)
    cache = KVCache(rt, config, decoder.dtype, arena, rows, slots)
    space = Workspace(rt, decoder, max(tokens, rows))
    lasts = Activations(rt, decoder, requests, Workspace(rt, decoder, requests))
    prefill = Prefill(rt, decoder, tokens, lasts, state.prompts, cache.keys, cache.values, space)
    at = state.prompts
    own = cache.own(rows)
    beams = Rows(state.row_start, at.prompt_start, at.prompt_len, cache.keys, cache.values, *own)
    ancestors = rt.upload([[row] * slots for row in range(rows)], int32)
    forward = Forward(rt, decoder, beams, ancestors, space)
    forward.plan(layout.prompt_start, layout.prompt_len, [width, *padding])
    codes = rt.upload(rng.integers(0, config.vocab_size, rows, dtype=np.int32))
    every = rt.upload(np.arange(config.vocab_size, dtype=np.int32))
    live = rt.upload([width, *padding], int32)
    prefill.launch()
    for step in range(slots):  # K/V of both steps are written before the last is timed
        forward.launch(codes, every, live, step, ancestors)

    def launch() -> None:
        forward.launch(codes, every, live, slots - 1, ancestors)

    return prefill.launch, rt.capture(launch).replay


def _median_ms(rt: Runtime, stream: Any, launch: Callable[[], object], repeats: int) -> float:
    """Median milliseconds from one launch's end to the next one's, queued without a pause."""
    events = [rt.event() for _ in range(repeats + 1)]
    for _ in range(3):
        launch()
    events[0].record(stream)
    for event in events[1:]:
        launch()
        event.record(stream)
    events[-1].synchronize()
    spent = [after.elapsed_ms(before) for before, after in pairwise(events)]
    return round(statistics.median(spent), 4)


def _judged(figures: dict[str, float]) -> list[tuple[object, ...]]:
    """Rows of the table: what, measured, bar, goal, verdict."""
    rows: list[tuple[object, ...]] = []
    for what in dict.fromkeys([*BARS, *figures]):
        bar, goal = BARS.get(what, ("", ""))
        value = figures.get(what)
        verdict = ""
        if value is None:
            verdict = "not measured"
        elif isinstance(bar, int | float):
            more = what.endswith("requests/s")
            met = value >= bar if more else value <= bar
            reached = value >= float(goal) if more else value <= float(goal)
            verdict = "goal" if reached else "bar" if met else "missed"
        rows.append((what, "" if value is None else value, bar, goal, verdict))
    return rows


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--budget", type=float, default=540.0, help="seconds for the whole run")
    parser.add_argument("--lanes", type=positive, help="as the backend has it when not given")
    parser.add_argument(
        "--max-requests", type=positive, help="requests of one batch, 16 if not given"
    )
    parser.add_argument("--tiny", action="store_true", help="seconds on a CPU; proves nothing")
    parser.add_argument("--json", type=writable, help="write the record of the run")
    return parser.parse_args(argv)


if __name__ == "__main__":
    run_main(main)
