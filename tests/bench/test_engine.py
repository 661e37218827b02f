from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from xgr.bench import plot, synthetic
from xgr.bench.engine import (
    EngineServer,
    MemoryLedger,
    Work,
    at_rate,
    closed,
    latency,
    start_lanes,
)
from xgr.bench.model import load
from xgr.catalog.synthetic import random_catalogue
from xgr.cli.main import app
from xgr.engine import Recommendations
from xgr.errors import InputError
from xgr.runtime import Runtime, runtime

TINY = ["--model", "qwen3-tiny", "--random-weights", "--layers", "1"]
SMALL = ["--catalog", "random:500:3x16", "--beam-width", "4", "--prompt-tokens", "9"]


@pytest.fixture(scope="module")
def server() -> EngineServer:
    rt, catalogue = runtime("cpu"), random_catalogue("random:500:3x16")
    model = synthetic.decoder(rt, "qwen3-tiny", catalogue.level_sizes, dtype="float32", layers=1)
    ids = synthetic.code_tokens("qwen3-tiny", catalogue.level_sizes)
    work = Work(beam_width=4, prompt_tokens=9, max_requests=4)
    made = EngineServer(start_lanes(rt, model, ids, work, 2, normalize="level"), catalogue, work)
    made.warm_up()
    return made


def test_prompts_are_distinct_sids_of_the_model(server: EngineServer) -> None:
    requests = server.requests(20) + server.requests(20)
    assert len({tuple(request.token_ids) for request in requests}) == 40
    levels = [set(ids) for ids in synthetic.code_tokens("qwen3-tiny", (16, 16, 16))]
    for request in requests:
        assert len(request.token_ids) == 9
        assert request.k == request.beam_width == 4
        assert all(token in levels[at % 3] for at, token in enumerate(request.token_ids))


def test_batches_come_back_as_items(server: EngineServer) -> None:
    assert server.places == 2
    assert server.sizes == [1, 2, 3, 4]
    found = server.submit(server.requests(4)).result()
    outcomes = [one for one in found if isinstance(one, Recommendations)]
    assert [len(one) for one in outcomes] == [4] * 4
    assert len({outcome[0].score for outcome in outcomes}) == 4


def test_latency_is_the_sum_of_its_parts(server: EngineServer) -> None:
    alone = latency(server, 12, warm_up=1)
    assert len(alone.total) == 12
    for at, total in enumerate(alone.total):
        assert total == pytest.approx(sum(part[at] for part in alone.parts.values()))
        assert total > 0
    summary = alone.summary()
    assert summary["p50_ms"] <= summary["p90_ms"] <= summary["p99_ms"] <= summary["max_ms"]
    assert set(summary["parts_p50_ms"]) == {"prepare", "launch", "collect"}
    # on the CPU the launches are the work
    for prefill, decode, launch in zip(*alone.device.values(), alone.parts["launch"], strict=True):
        assert 0 < prefill < launch
        assert 0 < decode <= launch - prefill
    assert server.lanes.engines[0].events is None


def test_loops_answer_every_request(server: EngineServer) -> None:
    loop = closed(server, 12, concurrency=3)
    assert len(loop.latency_ms) == 12
    run = at_rate(server, 60, seconds=0.3, least=20)
    assert len(run.latency_ms) == 20
    for made in (loop, run):
        assert made.failed == 0
        assert (made.answered > made.arrived).all()
        assert sum(made.batches) == len(made.arrived)


def test_a_forced_kernel_is_not_reported_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XGR_KERNEL", "swiglu=cpu_ref.reference")
    rt, catalogue = Runtime("cpu", runtime("cpu").backend), random_catalogue("random:50:2x8")
    model = synthetic.decoder(rt, "qwen3-tiny", (8, 8), dtype="float32", layers=1)
    ids = synthetic.code_tokens("qwen3-tiny", (8, 8))
    work = Work(beam_width=2, prompt_tokens=4, max_requests=1)
    server = EngineServer(start_lanes(rt, model, ids, work, 1), catalogue, work)
    server.warm_up()
    with pytest.raises(InputError, match=r"swiglu ran on cpu_ref\.reference \(XGR_KERNEL\)"):
        server.check_kernels()
    assert server.check_kernels(allow_forced=True)["swiglu"] == ["cpu_ref.reference"]


def test_memory_is_told_by_what_took_it() -> None:
    rt = runtime("null").lane()
    ledger = MemoryLedger(rt)
    model = synthetic.decoder(rt, "qwen3-0.6b", (8192,) * 3, dtype="bfloat16", layers=1)
    ledger.note("weights")
    work = Work(beam_width=512, prompt_tokens=1024, max_requests=1)
    start_lanes(rt, model, synthetic.code_tokens("qwen3-0.6b", (8192,) * 3), work, 1)
    ledger.note("arena")
    summary = ledger.summary()
    c = model.config
    layer = c.hidden_size * (48 * c.head_dim + 3 * c.intermediate_size)
    assert summary["weights"] == pytest.approx(
        2 * (c.vocab_size * c.hidden_size + layer) + 8 * c.max_positions * c.head_dim / 2, rel=0.001
    )
    token = 2 * 2 * c.num_kv_heads * c.head_dim  # K and V of one layer
    assert summary["arena"] > token * (1024 + 2 * 512)
    assert summary["peak"] >= summary["in_use"] >= summary["weights"] + summary["arena"]


def test_the_command_writes_a_record_and_a_plot(tmp_path: Path) -> None:
    out, picture = tmp_path / "engine.json", tmp_path / "engine.png"
    words = ["bench", "engine", *TINY, *SMALL, "--requests", "6", "--concurrency", "2"]
    words += ["--max-requests", "2", "--lanes", "1", "--rate", "50", "--seconds", "0.2"]
    words += ["--least-requests", "5", "--json", str(out), "--plot", str(picture)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    for shown in ("p99_ms", "requests_per_s", "peak", "launch, p50_ms"):
        assert shown in done.output
    written: dict[str, Any] = json.loads(out.read_text())
    results, settings = written["results"], written["settings"]
    assert results["latency"]["requests"] == results["closed_loop"]["requests"] == 6
    assert results["open_loop"]["requests"] == 10
    assert results["open_loop"]["offered_per_s"] == 50
    # a CPU counts the resident set, which may lose pages while a tiny model is loaded
    assert results["memory_bytes"]["peak"] > results["memory_bytes"]["weights"]
    assert settings["beam_width"] == 4
    assert settings["normalize"] == "level"
    assert settings["device"].startswith("NumPy")
    assert settings["limits"]["max_tokens"] > 0
    assert written["environment"]["git"]
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([*TINY, *SMALL, "--rate", "5", "--saturate"], "--rate or --saturate, not both"),
        ([*TINY, *SMALL, "--requests", "0"], "--requests is 0, need a positive number"),
        ([*TINY, *SMALL, "--normalize", "odd"], "normalize is 'odd', allowed: vocab"),
        (["--model", "qwen3-tiny", *SMALL], "is a shape without weights: add --random-weights"),
        (["--model", "qwen9", "--random-weights", *SMALL], "'qwen9' has no known shape"),
        ([*TINY, *SMALL[2:], "--catalog", "random:5"], "is no random catalogue"),
        ([*TINY, *SMALL, "--json", "/proc/none/e.json"], "cannot be written"),
    ],
)
def test_what_cannot_be_measured_is_refused(words: list[str], message: str) -> None:
    done = CliRunner().invoke(app, ["bench", "engine", *words])
    assert isinstance(done.exception, Exception)
    assert message in str(done.exception)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--mode", "latency", "--rate", "5"], "--rate 5 asks for an open loop"),
        (["--mode", "memory", "--saturate"], "--mode memory does not run: give --mode throughput"),
        (["--layers", "-7"], "--layers is -7, need a positive number"),
        (["--plot", "e.xyz"], "into e.xyz: its suffix is its format, allowed: .png, .svg, .pdf"),
        (["--plot", "/proc/none/e.png"], "/proc/none/e.png cannot be written"),
    ],
)
def test_options_are_refused_before_the_work(
    monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    monkeypatch.setattr("xgr.cli.bench.load", lambda *_, **__: pytest.fail("it was loaded"))
    done = CliRunner().invoke(app, ["bench", "engine", *TINY, *SMALL, *words])
    assert isinstance(done.exception, InputError)
    assert message in str(done.exception)


@pytest.mark.parametrize("command", ["bench", "tune"])
def test_layers_of_a_checkpoint_are_its_own(command: str, tmp_path: Path) -> None:
    out = "--json" if command == "bench" else "--out"
    words = ["--model", "a/folder", *SMALL, "--layers", "2", out, str(tmp_path / "e.json")]
    done = CliRunner().invoke(app, [command, "engine", *words])
    assert isinstance(done.exception, InputError)
    assert "--layers is 2, but --model a/folder is read from a folder" in str(done.exception)


@pytest.mark.parametrize("layers", [0, -7, True])
def test_layers_of_a_random_model_are_counted(layers: int) -> None:
    with pytest.raises(InputError, match=f"layers is {layers}, need a whole number"):
        load(runtime("cpu"), "qwen3-tiny", "random:50:2x8", random_weights=True, layers=layers)


def test_the_record_has_the_layers_of_the_decoder(tmp_path: Path) -> None:
    out = tmp_path / "engine.json"
    words = ["bench", "engine", *TINY[:3], *SMALL, "--mode", "memory", "--max-requests", "1"]
    done = CliRunner().invoke(app, [*words, "--json", str(out)])
    assert done.exit_code == 0, done.output
    published = synthetic.SHAPES["qwen3-tiny"]["num_hidden_layers"]
    assert json.loads(out.read_text())["settings"]["layers"] == published


@pytest.mark.parametrize("lanes", [0, -1, True])
def test_lanes_are_counted(server: EngineServer, lanes: int) -> None:
    engine = server.lanes.engines[0]
    with pytest.raises(InputError, match=f"lanes is {lanes}, need a whole number of at least 1"):
        start_lanes(engine.rt, engine.decoder, engine.token_ids, server.work, lanes)


@pytest.mark.parametrize("name", ["plot", ".png", "plot.xyz", "plot.json"])
def test_a_plot_has_a_known_suffix(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"allowed: \.png, \.svg, \.pdf"):
        plot.check(tmp_path / "new" / name)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", ["plot.png", "plot.SVG", "plot.pdf"])
def test_a_plot_that_passes_the_check_can_be_drawn(name: str, tmp_path: Path) -> None:
    path = tmp_path / "new" / name
    plot.check(path)
    assert not path.exists()
    plot.plot(path, "a title", latency_ms=[1.0, 2.0])
    assert path.stat().st_size


def test_a_plot_without_matplotlib_is_refused_before_the_work(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    words = ["bench", "engine", *TINY, *SMALL, "--plot", str(tmp_path / "e.png")]
    done = CliRunner().invoke(app, words)
    assert 'pip install "xgr[bench]"' in str(done.exception)
