"""Separated K/V with staged attention beside paged K/V, in one run: time and memory.

The baseline is `EngineConfig(attention="paged")`: every beam a sequence with a block table, its own
kernel of paged attention (the fastest of a few configurations where it is timed alone), copies of
blocks on a fork; `xgr.engine.paged` says what is modelled. Random weights, one request, D = 3; beam
widths at one prompt length, prompt lengths at one width. Panels of the plot and the figures of the
xGR paper (arXiv 2512.11529) that they correspond to:

    attention of a layer           17, and by width 3
    a decode step's K/V work       4: paged attention of all layers, and the copies of a fork
    memory of K/V                  15 by width, 16 by prompt length
    latency of a request           the same sweep through the engine

    python -m benchmarks.paged --device cuda --json benchmarks/results/paged.json --plot paged.png
"""

from __future__ import annotations

import argparse
import gc
import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._command import drawable, run_main, writable
from xgr.bench import plot, record, synthetic
from xgr.bench.engine import EngineServer, Work, latency, start_lanes
from xgr.catalog.synthetic import random_catalogue
from xgr.cli.output import print_table
from xgr.engine import Recommendations
from xgr.engine.paged import PagedCache, own_blocks
from xgr.engine.state import KVCache
from xgr.models.config import DecoderConfig
from xgr.ops.dtype import DType, dtype, float32, int32
from xgr.registry.bind import BoundContext
from xgr.runtime import Runtime, runtime

KINDS = ("staged", "paged")
SLOTS, BLOCK = 2, 16
# with which paged attention is tried beside its choice: parts of a row, stages, tokens at a time
CONFIGS: tuple[Mapping[str, int], ...] = ({"splits": 2}, {"stages": 4}, {"block_n": 128})
# launches in a graph of what takes less time than the launch of a graph
MANY = 8


@dataclass(frozen=True)
class Scale:
    """What is run; `TINY` goes through every line of this file on a CPU."""

    model: str = "qwen3-0.6b"
    catalog: str = "random:100K:3x8192"
    widths: tuple[int, ...] = (32, 64, 128, 256, 512)
    at_tokens: int = 1024
    lengths: tuple[int, ...] = (256, 512, 1024, 2048, 4096, 8192)
    at_width: int = 128
    repeats: int = 10
    alone: int = 20

    def points(self) -> list[tuple[int, int]]:
        """(beam width, prompt tokens), each once."""
        by_width = [(width, self.at_tokens) for width in self.widths]
        by_length = [(self.at_width, tokens) for tokens in self.lengths]
        return list(dict.fromkeys(by_width + by_length))


TINY = Scale("qwen3-tiny", "random:300:3x16", (2, 4), 32, (16, 32), 4, 1, 2)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tiny", action="store_true", help="a model of no size, to try the run")
    parser.add_argument("--only", choices=("ops", "engine"), help="one half of the run")
    parser.add_argument("--budget", type=float, default=90, help="seconds after which points drop")
    parser.add_argument("--json", type=writable, help="write the record of the run")
    parser.add_argument("--plot", type=drawable, help="draw it (matplotlib)")
    args = parser.parse_args(argv)
    rt, scale, end = runtime(args.device), TINY if args.tiny else Scale(), _clock() + args.budget
    results: dict[str, Any] = {"points": [], "left_out": []}
    half = args.budget / 2 if args.only is None else args.budget
    if args.only != "engine":
        _sweep(results, scale, "ops", _clock() + half, lambda point: ops(rt, scale, *point))
    if args.only != "ops":
        run = EngineRun(rt, scale)
        _sweep(results, scale, "engine", end, lambda point: run.point(*point))
    _print(results)
    if args.json:
        settings = {**scale.__dict__, "device": args.device, "block_tokens": BLOCK}
        record.write(args.json, "paged", results, settings=settings)
    if args.plot:
        draw(args.plot, results, scale)


def _sweep(
    results: dict[str, Any],
    scale: Scale,
    part: str,
    end: float,
    measure: Callable[[tuple[int, int]], dict[str, Any]],
) -> None:
    """Add what is measured at each point; those that come after the end are named."""
    points = results["points"]
    for point in scale.points():
        width, tokens = point
        if _clock() > end:
            print(f"{part}: no time for {width} beams, {tokens} tokens", flush=True)
            results["left_out"].append({"part": part, "width": width, "tokens": tokens})
            continue
        known = [p for p in points if (p["width"], p["tokens"]) == point]
        if not known:
            known = [{"width": width, "tokens": tokens}]
            points += known
        known[0][part] = measure(point)
        gc.collect()
        print(f"{part}: {width} beams, {tokens} tokens: {known[0][part]}", flush=True)


def ops(rt: Runtime, scale: Scale, width: int, tokens: int) -> dict[str, Any]:
    """Microseconds of attention in a layer, and of what a fork moves in all layers.

    A graph holds the launches of every layer over its own K/V, as a decode does: caches are as cold
    as they are there.
    """
    config = _config(scale)
    arrays = OpArrays(rt, config, width, tokens, _kind(rt, scale))
    layers, repeats = config.num_layers, scale.repeats

    def each(launch: Callable[..., None], calls: Sequence[dict[str, Any]]) -> float:
        def run() -> None:
            for call in calls:
                launch(**call)

        return _graph_us(rt, run, repeats)

    found: dict[str, Any] = {}
    for name, op, calls in (
        ("staged", "staged_attention", [arrays.staged(at) for at in range(layers)]),
        ("paged", "paged_attention", [arrays.paged(at) for at in range(layers)]),
    ):
        problem = rt.problem(op, **calls[0])
        bound = rt.bind(op, problem)
        launches: dict[str, Callable[..., None]] = {"chosen": bound}
        kernel = bound.choice.kernel
        if name == "paged" and kernel is not None and kernel.tunables:
            for configured in CONFIGS:
                label = " ".join(f"{key}={value}" for key, value in configured.items())
                launches[label] = kernel.build(problem, BoundContext(rt, configured))
        times = {label: each(launch, calls) / layers for label, launch in launches.items()}
        best = min(times, key=lambda label: times[label])
        found[f"{name}_attention_us"] = round(times[best], 3)
        found[f"{name}_by_config_us"] = {label: round(us, 3) for label, us in times.items()}
    mode = rt.backend.kv_mode
    for name, op, call in (
        ("fork_us", "block_fork", arrays.fork()),
        ("copies_us", "block_copy", arrays.copies()),
        ("follow_us", "beam_ancestors" if mode == "ancestors" else "kv_reorder",
         arrays.follow(mode)),
    ):  # fmt: skip
        found[name] = round(each(rt.bind(op, rt.problem(op, **call)), [call] * MANY) / MANY, 3)
    found["copied_blocks"] = int((np.asarray(rt.fetch(arrays.target)) >= 0).sum())
    return found


class OpArrays:
    """One request of `width` beams behind a prompt, both ways, after a fork at token 1."""

    def __init__(
        self, rt: Runtime, config: DecoderConfig, width: int, tokens: int, kind: DType
    ) -> None:
        self._rt, self._scale = rt, config.head_dim**-0.5
        layers, heads = config.num_layers, (config.num_kv_heads, config.head_dim)
        self._batch = {
            "row_start": rt.upload([0, width], int32), "live": rt.upload([width], int32),
        }  # fmt: skip
        self._prompts = {
            "prompt_start": rt.upload([0], int32), "prompt_len": rt.upload([tokens], int32),
        }  # fmt: skip
        self._status = rt.upload([0], int32)
        draw = random.Random(0)
        self._parent = rt.upload(sorted(draw.choices(range(width), k=width)), int32)
        self._out = {
            "q": random_array(rt, (width, config.num_heads, config.head_dim), kind),
            "out": rt.empty((width, config.num_heads, config.head_dim), kind),
            "lse": rt.empty((width, config.num_heads), float32),
        }
        shapes = (layers, tokens, *heads), (layers, width, SLOTS, *heads)
        self._kv = [[random_array(rt, shape, kind) for _ in range(2)] for shape in shapes]
        self._ancestors = [rt.upload([[row] * SLOTS for row in range(width)], int32)] * 2
        self._ancestors[1] = rt.empty((width, SLOTS), int32)

        prompt, own = -(-tokens // BLOCK), own_blocks(SLOTS, BLOCK)
        pool = (layers, prompt + width * own, BLOCK, *heads)
        self._pool = [random_array(rt, pool, kind) for _ in range(2)]
        self._own = rt.upload(
            [[prompt + row * own + at for at in range(own)] for row in range(width)], int32
        )
        self._tables = [rt.empty((width, prompt + own), int32) for _ in range(2)]
        self.source, self.target = rt.empty((width,), int32), rt.empty((width,), int32)
        rt.block_fork(**self._forking(0))
        rt.block_fork(**self.fork())

    def staged(self, layer: int) -> dict[str, Any]:
        """Arguments of staged_attention in a layer."""
        (k, v), (k_own, v_own) = self._kv
        return {
            **self._out, **self._batch, **self._prompts, "k": k[layer], "v": v[layer],
            "k_unshared": k_own[layer], "v_unshared": v_own[layer],
            "ancestors": self._ancestors[0], "step": SLOTS, "scale": self._scale,
        }  # fmt: skip

    def paged(self, layer: int) -> dict[str, Any]:
        """Arguments of paged_attention in a layer."""
        k, v = self._pool
        return {
            **self._out, **self._batch, "prompt_len": self._prompts["prompt_len"],
            "k": k[layer], "v": v[layer], "block_table": self._tables[1], "step": SLOTS,
            "scale": self._scale,
        }  # fmt: skip

    def fork(self) -> dict[str, Any]:
        """Arguments of block_fork after the second level."""
        return self._forking(1)

    def copies(self) -> dict[str, Any]:
        """Arguments of block_copy behind it."""
        k, v = self._pool
        return {"k": k, "v": v, "source": self.source, "target": self.target}

    def follow(self, mode: str) -> dict[str, Any]:
        """Arguments of what separated K/V does in its place."""
        common = {**self._batch, "parent": self._parent, "status": self._status, "step": 1}
        if mode == "reorder":
            k, v = self._kv[1]
            return {"k": k, "v": v, **common}
        return {"ancestors": self._ancestors[0], "out": self._ancestors[1], **common}

    def _forking(self, step: int) -> dict[str, Any]:
        return {
            **self._batch, **self._prompts, "own": self._own, "out": self._tables[step],
            "parent": self._parent if step else None, "table": self._tables[0] if step else None,
            "source": self.source, "target": self.target, "status": self._status,
            "step": step, "block_tokens": BLOCK,
        }  # fmt: skip


class EngineRun:
    """The same requests through two engines of one model."""

    def __init__(self, rt: Runtime, scale: Scale) -> None:
        self._rt, self._scale = rt, scale
        self._catalogue = random_catalogue(scale.catalog)
        sizes = self._catalogue.level_sizes
        self._tokens = synthetic.code_tokens(scale.model, sizes)
        kind = _kind(rt, scale).name
        self._decoder = synthetic.decoder(rt, scale.model, sizes, dtype=kind)

    def point(self, width: int, tokens: int) -> dict[str, Any]:
        """Milliseconds of a request alone, bytes of K/V, and how far the results agree."""
        work, rt = Work(width, tokens, max_requests=1), self._rt
        found: dict[str, Any] = {}
        results = []
        for kind in KINDS:
            rt.synchronize()
            before = rt.memory().used
            lanes = start_lanes(
                rt, self._decoder, self._tokens, work, 1,
                attention=kind, block_tokens=BLOCK, normalize="level",
            )  # fmt: skip
            server = EngineServer(lanes, self._catalogue, work)
            # both servers draw the same prompts
            outcome = server.submit(server.requests(1)).result()[0]
            times = latency(server, self._scale.alone, 2)
            found[f"{kind}_p50_ms"] = round(statistics.median(times.total), 4)
            found[f"{kind}_engine_bytes"] = rt.memory().used - before
            if isinstance(outcome, Recommendations):
                results.append({item.item_id: item.score for item in outcome})
            limits, engine = work.limits(rt), lanes.engines[0]
            sizes = (engine.decoder.config, engine.decoder.dtype, limits["max_tokens"], width)
            found[f"{kind}_kv_bytes"] = (
                PagedCache.nbytes(*sizes, SLOTS, BLOCK)
                if kind == "paged"
                else KVCache.nbytes(*sizes, SLOTS)
            )
            if kind == "paged":  # a row reserves what the worst prompt length needs
                used = -(-tokens // BLOCK)
                used += width * (-(-(tokens + SLOTS) // BLOCK) - tokens // BLOCK)
                found["paged_used_bytes"] = KVCache.nbytes(*sizes[:2], used * BLOCK, 0, 0)
            del server, lanes, engine
            gc.collect()
        if len(results) == len(KINDS) and all(results):
            staged, paged = results
            common = staged.keys() & paged.keys()
            found["common_items"] = round(len(common) / max(len(staged), len(paged)), 4)
            if common:
                found["score_difference"] = max(abs(staged[i] - paged[i]) for i in common)
        return found


def random_array(rt: Runtime, shape: tuple[int, ...], kind: DType) -> Any:
    """Normal values, one block of rows repeated: memory that means numbers, made quickly."""
    rows, columns, block = int(np.prod(shape[:-2])), int(np.prod(shape[-2:])), 997
    table = rt.upload(np.random.default_rng(0).standard_normal((block, columns)), kind)
    array = rt.empty(shape, kind)
    ids = rt.upload(np.arange(rows, dtype=np.int32) % block, int32)
    rt.embed(ids=ids, table=table, out=array.reshape((rows, columns)))
    return array


def draw(path: Path, results: Mapping[str, Any], scale: Scale) -> None:
    """Panels by width above, by prompt length below."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(15, 7), layout="constrained")
    layers = _config(scale).num_layers
    title = f"{scale.model}, one request; below at {scale.at_width} beams"
    figure.suptitle(f"{title}, above at {scale.at_tokens} prompt tokens")
    rows = (
        ("width", "beam width", [(width, scale.at_tokens) for width in scale.widths]),
        ("tokens", "prompt tokens", [(scale.at_width, tokens) for tokens in scale.lengths]),
    )
    for at, (axis, label, wanted) in enumerate(rows):
        points = [p for p in results["points"] if (p["width"], p["tokens"]) in wanted]
        points.sort(key=lambda p: int(p[axis]))
        measured = [p for p in points if "ops" in p]
        served = [p for p in points if "engine" in p]
        lines: tuple[tuple[str, list[Any], dict[str, list[float]]], ...] = (
            ("attention of a layer [us] (Fig. 17)", measured, {
                kind: [p["ops"][f"{kind}_attention_us"] for p in measured] for kind in KINDS
            }),
            ("K/V work of a step [us] (Fig. 3, 4)", measured, {
                "paged attention": [layers * p["ops"]["paged_attention_us"] for p in measured],
                "block copies": [p["ops"]["copies_us"] for p in measured],
                "staged attention": [layers * p["ops"]["staged_attention_us"] for p in measured],
                "ancestors or reorder": [p["ops"]["follow_us"] for p in measured],
            }),
            (f"K/V [MB] (Fig. {15 + at})", served, {
                name: [p["engine"][f"{key}_bytes"] / 1e6 for p in served]
                for name, key in (
                    ("staged", "staged_kv"), ("paged, reserved", "paged_kv"),
                    ("paged, blocks in use", "paged_used"),
                )
            }),
            ("request alone, P50 [ms]", served, {
                kind: [p["engine"][f"{kind}_p50_ms"] for p in served] for kind in KINDS
            }),
        )  # fmt: skip
        for column, (name, shown, values) in enumerate(lines):
            axes = figure.add_subplot(2, len(lines), len(lines) * at + column + 1)
            for line, found in values.items():
                axes.plot([p[axis] for p in shown], found, "o-", label=line)
            axes.set(title=name, xlabel=label)
            axes.set_xscale("log", base=2)
            axes.set_ylim(bottom=0)
            axes.legend()
    plot.save(figure, path)


def _graph_us(rt: Runtime, run: Callable[[], None], repeats: int) -> float:
    """Microseconds of a replay, median of five times `repeats` in a row."""
    graph = rt.capture(run)
    graph.replay()
    found = []
    for _ in range(5):
        rt.synchronize()
        start = _clock()
        for _ in range(repeats):
            graph.replay()
        rt.synchronize()
        found.append((_clock() - start) / repeats * 1e6)
    return statistics.median(found)


def _config(scale: Scale) -> DecoderConfig:
    levels = scale.catalog.split(":")[2].split("x")
    return synthetic.config(scale.model, [int(levels[1])] * int(levels[0]))


def _kind(rt: Runtime, scale: Scale) -> DType:
    return float32 if rt.device == "cpu" else dtype(_config(scale).dtype)


def _print(results: Mapping[str, Any]) -> None:
    names = {
        "ops": ("staged_attention_us", "paged_attention_us", "copies_us", "fork_us", "follow_us"),
        "engine": (
            "staged_p50_ms",
            "paged_p50_ms",
            "staged_kv_bytes",
            "paged_kv_bytes",
            "paged_used_bytes",
        ),
    }
    for part, columns in names.items():
        rows = [p for p in results["points"] if part in p]
        if rows:
            table = [
                (str(p["width"]), str(p["tokens"]), *(str(p[part][c]) for c in columns))
                for p in rows
            ]
            print_table(("beams", "tokens", *columns), table)


def _clock() -> float:
    return time.perf_counter()


if __name__ == "__main__":
    run_main(main)
