"""`xgr tune engine`: measure lanes and captured prefills under load."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from xgr.bench import record
from xgr.bench.engine import Work
from xgr.bench.model import load
from xgr.cli import options
from xgr.cli.progress import Bar, print_lines
from xgr.runtime import runtime
from xgr.tuner.engine import result, run, space


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
    max_requests: options.MaxRequests = 16,
    normalize: options.Normalize = "level",
    kv_mode: options.KvMode = None,
    slo_ms: Annotated[float, typer.Option(help="Limit of P99 under load.")] = 200.0,
    max_lanes: Annotated[
        int | None, typer.Option(help="Most lanes; else 4, or the cores where lanes share them.")
    ] = None,
    requests: Annotated[int, typer.Option(help="Requests one at a time, at most.")] = 100,
    rounds: Annotated[int, typer.Option(help="Times that each is measured.")] = run.ROUNDS,
    budget: Annotated[str, typer.Option(help="Time for all: 90, 90s or 5m.")] = "120s",
    out: Annotated[
        Path | None, typer.Option(help="The result; default tables/engine/DEVICE.MODEL.json.")
    ] = None,
) -> None:
    """Measure lanes and graph_tokens under load, and say which to pass.

    Runs are kept beside the result as they are measured: the same command goes on with them.
    Example: xgr tune engine --model qwen3-0.6b --random-weights --catalog random:1M:3x8192
    --device cuda --budget 5m
    """
    options.check_positive(
        {"--beam-width": beam_width, "--prompt-tokens": prompt_tokens, "-k": k,
         "--max-requests": max_requests, "--slo-ms": slo_ms, "--max-lanes": max_lanes,
         "--requests": requests, "--rounds": rounds, "--layers": layers}
    )  # fmt: skip
    seconds = options.seconds(budget)
    rt = runtime(device)
    name = model if random_weights else Path(model).resolve().name
    path = out or Path("tables") / "engine" / f"{rt.backend.device}.{name}.json"
    record.check_writable(path)
    loaded = load(rt, model, catalog, random_weights=random_weights, layers=layers, dtype=dtype)
    work = Work(beam_width, prompt_tokens, k, max_requests)
    given = {"normalize": normalize, "kv_mode": kv_mode}
    config = {option: value for option, value in given.items() if value is not None}
    # a random catalogue is named by what it is, another by its file
    source = catalog if ":" in catalog else Path(catalog).name
    asked = run.Asked(name, source, work, config, slo_ms, requests)
    taken = space.lane_bytes(rt, loaded, work, config)
    found = space.space(rt, work, taken, max_lanes)
    with Bar("engine") as shown:
        rows = path.with_suffix(".rows.jsonl")
        journal = run.tune(rt, loaded, asked, found, rows, seconds, rounds, shown)
    written = result.result(journal.head, journal.rows, found, space.default(rt), rounds)
    result.write(written, path)
    print_lines(result.lines(written))
    limits = ", ".join(f"{limit}={value}" for limit, value in work.limits(rt).items())
    typer.echo(f"{path} is written; Recommender.from_pretrained takes the settings, with {limits}")
