"""`xgr bench`: what the engine does on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from xgr.bench import plot as plots
from xgr.bench import record
from xgr.bench.engine import (
    EngineServer,
    MemoryLedger,
    Work,
    at_rate,
    closed,
    latency,
    saturated,
    start_lanes,
)
from xgr.bench.model import load
from xgr.cli import options
from xgr.cli.output import print_table
from xgr.errors import InputError
from xgr.runtime import runtime

app = typer.Typer(help="Measure the engine.", no_args_is_help=True)

Mode = Literal["latency", "throughput", "memory", "all"]


@app.callback()
def _root() -> None:
    return


@app.command()
def engine(
    model: options.MeasuredModel,
    catalog: options.MeasuredCatalog,
    random_weights: options.RandomWeights = False,
    layers: options.Layers = None,
    device: options.Device = "cpu",
    dtype: options.Dtype = None,
    beam_width: options.EveryWidth = 128,
    prompt_tokens: options.PromptTokens = 1024,
    k: options.EveryK = None,
    mode: Annotated[Mode, typer.Option(help="What to measure.")] = "all",
    requests: Annotated[int, typer.Option(help="Requests alone, and of the closed loop.")] = 200,
    concurrency: Annotated[int, typer.Option(help="Requests under way in the closed loop.")] = 8,
    rate: Annotated[float | None, typer.Option(help="Open loop at this rate a second.")] = None,
    saturate: Annotated[
        bool, typer.Option("--saturate", help="Search the greatest rate within --slo-ms.")
    ] = False,
    slo_ms: Annotated[float, typer.Option(help="Limit of P99 in the open loop.")] = 200.0,
    seconds: Annotated[float, typer.Option(help="Length of an open-loop run.")] = 20.0,
    least_requests: Annotated[int, typer.Option(help="Least requests of such a run.")] = 3000,
    max_requests: options.MaxRequests = 16,
    normalize: options.Normalize = "level",
    attention: Annotated[
        str | None, typer.Option(help="How decode attends; the engine's own way if not given.")
    ] = None,
    kv_mode: options.KvMode = None,
    lanes: options.Lanes = None,
    allow_forced: Annotated[
        bool, typer.Option("--allow-forced", help="Report a run on kernels that were forced.")
    ] = False,
    json_path: Annotated[Path | None, typer.Option("--json", help="Write the record here.")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the figures into this .png, .svg or .pdf.")
    ] = None,
) -> None:
    """Latency of requests alone, throughput under load, device memory.

    Latency: one request at a time, token ids in, item ids out. Throughput: a closed loop, and with
    --rate or --saturate Poisson arrivals whose latency counts from the arrival. Prompts are random
    and distinct. Kernels that were forced are an error.
    """
    counts = {"--beam-width": beam_width, "--prompt-tokens": prompt_tokens, "--requests": requests,
              "--concurrency": concurrency, "--max-requests": max_requests, "--lanes": lanes,
              "--seconds": seconds, "--slo-ms": slo_ms, "--rate": rate, "-k": k,
              "--layers": layers}  # fmt: skip
    options.check_positive(counts)
    if rate is not None and saturate:
        raise InputError("give --rate or --saturate, not both")
    if mode not in ("throughput", "all") and (rate is not None or saturate):
        raise InputError(
            f"{'--saturate' if saturate else f'--rate {rate:g}'} asks for an open loop, which "
            f"--mode {mode} does not run: give --mode throughput or all, or leave it away"
        )
    if json_path is not None:
        record.check_writable(json_path)
    if plot is not None:
        plots.check(plot)
    settings = {name: value for name, value in (
        ("normalize", normalize), ("attention", attention), ("kv_mode", kv_mode)
    ) if value is not None}  # fmt: skip
    work = Work(beam_width, prompt_tokens, k, max_requests)
    rt = runtime(device)
    ledger = MemoryLedger(rt)
    loaded = load(rt, model, catalog, random_weights=random_weights, layers=layers, dtype=dtype)
    ledger.note("weights")
    started = start_lanes(rt, loaded.decoder, loaded.token_ids, work, lanes, **settings)
    ledger.note("arena, workspaces")
    server = EngineServer(started, loaded.catalogue, work)
    server.warm_up()
    ledger.note("catalogue, programs, graphs")
    kernels = server.check_kernels(allow_forced)
    results: dict[str, Any] = {"kernels": kernels}
    drawn: dict[str, Any] = {}
    if mode in ("latency", "all"):
        alone = latency(server, requests)
        results["latency"], drawn["latency_ms"] = alone.summary(), alone.total
        _figures("latency, one at a time", results["latency"])
    if mode in ("throughput", "all"):
        results["closed_loop"] = closed(server, requests, concurrency).summary()
        _figures(f"closed loop of {concurrency}", results["closed_loop"])
        if rate is not None:
            run = at_rate(server, rate, seconds, least_requests)
            results["open_loop"] = {"offered_per_s": rate, **run.summary()}
            drawn["rates"] = [(rate, run.p(99), run.p(99) <= slo_ms)]
            _figures(f"open loop at {rate:g}/s", results["open_loop"])
        if saturate:
            found = saturated(server, slo_ms, seconds=seconds, least=least_requests, say=typer.echo)
            results["saturated"] = found.summary()
            drawn["rates"] = [*found.probes, (found.rate, found.run.p(99), found.kept)]
            drawn["slo_ms"] = slo_ms
            _figures(f"open loop, P99 within {slo_ms:g} ms", results["saturated"])
    if mode in ("memory", "all"):
        results["memory_bytes"] = drawn["memory"] = ledger.summary()
        print_table(("memory", "GB"), [(n, f"{b / 1e9:.3f}") for n, b in drawn["memory"].items()])
    if json_path is not None:
        first = server.lanes.engines[0]
        setting = {
            "model": model,
            "random_weights": random_weights,
            "layers": loaded.decoder.config.num_layers,
            "catalog": catalog,
            "device": rt.backend.probe().summary,
            "dtype": first.decoder.dtype.name,
            "limits": asdict(first.config),
            "lanes": len(server.lanes.engines),
            "slo_ms": slo_ms,
            **asdict(work),
            **settings,
        }
        record.write(json_path, "engine", results, settings=setting)
    if plot is not None:
        plots.plot(plot, f"{model}, {beam_width} beams, {prompt_tokens} tokens", **drawn)


def _figures(name: str, figures: Mapping[str, Any]) -> None:
    flat = {key: value for key, value in figures.items() if not isinstance(value, list)}
    for where in ("parts_p50_ms", "device_p50_ms"):
        flat |= {f"{part}, p50_ms": ms for part, ms in flat.pop(where, {}).items()}
    print_table((name, ""), list(flat.items()))
