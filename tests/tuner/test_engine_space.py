"""Lanes and captured prefills: what is tried, measured, interrupted, refused and said."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from xgr.backends.base import Memory
from xgr.backends.cpu_ref.backend import CpuBackend
from xgr.bench.engine import Work, start_lanes
from xgr.bench.model import Loaded, load
from xgr.cli.main import app
from xgr.engine import EngineConfig
from xgr.errors import InputError
from xgr.runtime import Runtime
from xgr.tuner.engine import measure, result, run
from xgr.tuner.engine.measure import Run
from xgr.tuner.engine.space import Setting, Space, default, lane_bytes, space

WORK = Work(beam_width=4, prompt_tokens=9, max_requests=2)
TINY = ("--model", "qwen3-tiny", "--random-weights", "--layers", "1")
ASKED = ("--catalog", "random:500:3x16", "--beam-width", "4", "--prompt-tokens", "9")
SHORT = ("--max-requests", "2", "--max-lanes", "2", "--requests", "5", "--slo-ms", "60000")
# what an engine captures unless told
OWN = EngineConfig().graph_tokens


class Two(CpuBackend):
    """Two cores, whatever the machine has."""

    default_lanes = 2
    cores = 2
    room = 1 << 40

    def memory(self) -> Memory:
        return replace(super().memory(), free=self.room)


class Apart(Two):
    """As if launches ran by themselves."""

    default_lanes = 1
    arch = "made_up"


@pytest.fixture
def rt(monkeypatch: pytest.MonkeyPatch) -> Runtime:
    made = Runtime("cpu", Two())
    monkeypatch.setattr("xgr.cli.tune_engine.runtime", lambda device: made)
    return made


def loaded(rt: Runtime) -> Loaded:
    return load(rt, "qwen3-tiny", "random:500:3x16", random_weights=True, layers=1)


def asked(**changes: Any) -> run.Asked:
    made = run.Asked("qwen3-tiny", "random:500:3x16", WORK, {"normalize": "level"}, 6e4, 4)
    return replace(made, **changes)


def cli(*words: object) -> str:
    done = CliRunner().invoke(app, ["tune", "engine", *map(str, words)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.usefixtures("rt")
def test_a_run_names_the_best_and_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "engine.json"
    words = (*TINY, *ASKED, *SHORT, "--out", out)
    said = cli(*words)
    found = json.loads(out.read_text())
    assert [(one["lanes"], one["graph_tokens"]) for one in found["settings"]] == [
        (1, OWN),
        (2, OWN),
    ]
    for one in found["settings"]:
        assert one["rounds"] == 2
        assert 0 < one["alone_p50_ms"] <= one["alone_p99_ms"]
        assert one["requests_per_s"] > 0
        assert one["concurrency"] == [2 * (one["lanes"] + 1)] * 2
    rates = {one["requests_per_s"]: one for one in found["settings"]}
    best = found["best"]["throughput"]
    assert best["lanes"] == rates[max(rates)]["lanes"]
    assert f"throughput: {best['pass']} (" in said
    assert f"latency: {found['best']['latency']['pass']} (" in said
    assert "max_tokens=32, max_rows=8, max_requests=2" in said
    assert found["environment"]["packages"]["numpy"]
    assert found["environment"]["summary"].startswith("NumPy")
    assert found["slo_ms"] == 60000
    # nothing is left to measure
    rows = out.with_suffix(".rows.jsonl").read_text()
    cli(*words)
    assert out.with_suffix(".rows.jsonl").read_text() == rows
    assert json.loads(out.read_text()) == found


def test_an_interrupted_run_is_taken_up_again(tmp_path: Path, rt: Runtime) -> None:
    path, model = tmp_path / "rows.jsonl", loaded(rt)
    of = space(rt, WORK, 1)

    def stop(done: int, total: int, left: float) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run.tune(rt, model, asked(), of, path, 60, 2, stop)
    before = path.read_text()
    path.write_text(before[:-20])  # in the middle of the second run
    short = run.tune(rt, model, asked(), of, path, 0.0)
    assert len(short.rows) == 1
    partial = result.result(short.head, short.rows, of, default(rt), 2)
    assert "the budget ended before all rounds" in "".join(result.lines(partial).remarks)
    seen: list[tuple[int, int]] = []
    whole = run.tune(
        rt, model, asked(), of, path, 60, 2, lambda done, total, left: seen.append((done, total))
    )
    assert seen == [(2, 4), (3, 4), (4, 4)]
    assert path.read_text().splitlines()[:2] == before.splitlines()[:2]
    assert [(one.setting.lanes, one.turn) for one in whole.rows] == [(2, 0), (1, 0), (1, 1), (2, 1)]


def test_rows_of_another_device_model_or_work_are_refused(tmp_path: Path, rt: Runtime) -> None:
    path, model, of = tmp_path / "rows.jsonl", loaded(rt), Space([])
    run.tune(rt, model, asked(), of, path, 0.0)
    with pytest.raises(InputError, match=r"holds rows of model 'qwen3-tiny', now 'other': remove"):
        run.tune(rt, model, asked(model="other"), of, path, 0.0)
    wider = asked(work=replace(WORK, beam_width=8))
    with pytest.raises(InputError, match="holds rows of beam_width 4, now 8: remove it or give"):
        run.tune(rt, model, wider, of, path, 0.0)
    head = json.loads(path.read_text())
    path.write_text(json.dumps(head | {"device": "abacus"}) + "\n")
    with pytest.raises(InputError, match="holds rows of device 'abacus', now"):
        run.tune(rt, model, asked(), of, path, 0.0)
    path.write_text(json.dumps(head) + '\n{"lanes": 1}\n')
    with pytest.raises(InputError, match="line 2 holds no measured row: KeyError"):
        run.tune(rt, model, asked(), of, path, 0.0)


def test_what_does_not_fit_is_refused_with_its_reason(
    tmp_path: Path, rt: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    each = lane_bytes(rt, loaded(rt), WORK, {})
    # K/V of one layer, 2 heads of 16: 32 tokens of prompts and 2 of each of 8 beams
    assert each >= 2 * 2 * 16 * 4 * (32 + 2 * 8)
    # the process may take pages for another lane than the one that is looked at
    monkeypatch.setattr("xgr.cli.tune_engine.space.lane_bytes", lambda *words: each)
    monkeypatch.setattr(rt.backend, "room", each * 3 // 2)
    out = tmp_path / "engine.json"
    said = cli(*TINY, *ASKED, *SHORT, "--rounds", "1", "--out", out)
    found = json.loads(out.read_text())
    assert [one["lanes"] for one in found["settings"]] == [1]
    (refused,) = found["refused"]
    assert refused["lanes"] == 2
    assert refused["reason"].startswith("2 lanes take ")
    assert "are free: give a smaller --max-requests" in refused["reason"]
    assert f"refused: lanes=2, graph_tokens={OWN}: {refused['reason']}" in said
    assert "the default has no figure" in said
    monkeypatch.setattr(rt.backend, "room", 0)
    with pytest.raises(InputError, match=r"no setting was measured: lanes=1, .* 0\.0 MB are free"):
        cli(*TINY, *ASKED, *SHORT, "--out", tmp_path / "none.json")


def test_a_setting_that_cannot_start_is_left_out_and_tried_again(
    tmp_path: Path, rt: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = start_lanes

    def full(rt: Runtime, decoder: Any, ids: Any, work: Work, lanes: int, **config: Any) -> Any:
        if lanes == 2:
            raise RuntimeError("out of memory\nof the device")
        return start(rt, decoder, ids, work, lanes, **config)

    path, model, of = tmp_path / "rows.jsonl", loaded(rt), space(rt, WORK, 1)
    with monkeypatch.context() as patch:
        patch.setattr(measure, "start_lanes", full)
        found = run.tune(rt, model, asked(), of, path, 60)
    assert [(one.setting.lanes, one.failed) for one in found.rows] == [
        (2, "RuntimeError: out of memory"),
        (1, ""),
        (1, ""),
    ]
    table = result.result(found.head, found.rows, of, default(rt), 2)
    assert table["refused"][0]["reason"] == "RuntimeError: out of memory"
    again = run.tune(rt, model, asked(), of, path, 60)
    table = result.result(again.head, again.rows, of, default(rt), 2)
    assert [one["rounds"] for one in table["settings"]] == [2, 2]
    assert table["refused"] == []


def test_only_what_makes_a_difference_is_tried() -> None:
    work = Work(beam_width=4, prompt_tokens=1000, max_requests=6)
    cpu = Runtime("cpu", Two())
    assert space(cpu, work, 1).settings == [Setting(2, OWN), Setting(1, OWN)]
    odd = space(cpu, work, 1, most_lanes=3)
    assert odd.refused[Setting(3, OWN)] == f"lanes share the 2 cores of {cpu.backend.device}"
    # batches of 1, 2, 3, 4 and 6 requests have 1024, 2016, 3008, 4000 and 6016 tokens
    found = space(Runtime("cpu", Apart()), work, 1, most_lanes=2)
    assert found.settings[0] == Setting(1, OWN)
    assert sorted(found.settings) == [
        Setting(lanes, tokens) for lanes in (1, 2) for tokens in (0, 1024, 2048, 4096, OWN)
    ]
    assert {one.lanes for one in space(Runtime("cpu", Apart()), work, 1).settings} == {1, 2, 3, 4}
    short = replace(work, prompt_tokens=100)
    tokens = {one.graph_tokens for one in space(Runtime("cpu", Apart()), short, 1).settings}
    # the default captures all of them
    assert tokens == {0, 128, 256, 512, OWN}


def test_prefills_are_captured_as_a_setting_says(tmp_path: Path) -> None:
    rt = Runtime("cpu", Apart())
    model, of = loaded(rt), space(rt, WORK, 1, most_lanes=1)
    assert {one.graph_tokens for one in of.settings} == {0, OWN}
    found = run.tune(rt, model, asked(), of, tmp_path / "rows.jsonl", 60, rounds=1)
    table = result.result(found.head, found.rows, of, default(rt), 1)
    assert [one["graph_tokens"] for one in table["settings"]] == [0, OWN]
    assert table["best"]["latency"]["spread"] is None


def test_loops_shrink_until_the_limit_is_kept(
    tmp_path: Path, rt: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Looped:
        """A server of 10 ms a request."""

        def __init__(self, number: int, concurrency: int) -> None:
            self.concurrency = concurrency

        def summary(self) -> dict[str, float]:
            ms = 10.0 * self.concurrency
            figures = {"p50_ms": ms, "p99_ms": ms, "mean_ms": ms}
            return {"requests_per_s": 100.0, "failed": 0, **figures}

    monkeypatch.setattr(measure, "closed", lambda server, *numbers: Looped(*numbers))
    model, setting = loaded(rt), Setting(1, 0)
    ask: Any = {"turn": 0, "requests": 4}
    kept = measure.measure(rt, model, WORK, {}, setting, slo_ms=25, **ask)
    assert [one["concurrency"] for one in kept.loops] == [4, 2]
    loop = kept.within(25)
    assert loop is not None
    assert loop["p99_ms"] == 20
    never = measure.measure(rt, model, WORK, {}, setting, slo_ms=5, **ask)
    assert [one["concurrency"] for one in never.loops] == [4, 1]
    assert never.within(5) is None
    journal = run.tune(
        rt, model, asked(slo_ms=5.0), Space([setting]), tmp_path / "rows.jsonl", 60, 1
    )
    table = result.result(journal.head, journal.rows, Space([setting]), default(rt), 1)
    assert table["best"]["throughput"] is None
    said = "\n".join(result.lines(table).remarks)
    assert (
        "no setting keeps P99 within 5 ms; the nearest, lanes=1, graph_tokens=0, has 10.0" in said
    )


def test_a_gain_is_held_to_what_rounds_differ_by() -> None:
    usual, other = Setting(1, 2048), Setting(2, 2048)

    def made(setting: Setting, turn: int, rate: float, ms: float) -> Run:
        loop = {"requests_per_s": rate, "p99_ms": 1.0, "failed": 0, "concurrency": 4}
        return Run(setting, turn, {"p50_ms": ms, "p99_ms": ms}, [loop], 1)

    head = {"slo_ms": 200.0, "device": "d", "model": "m", "dtype": "float32",
            "beam_width": 4, "prompt_tokens": 9}  # fmt: skip
    runs = [made(usual, 0, 100, 2.0), made(usual, 1, 110, 2.0)]
    runs += [made(other, 0, 108, 1.0), made(other, 1, 108, 1.0)]
    table = result.result(head, runs, Space([usual, other]), usual, 2)
    assert table["best"]["throughput"]["over_default"] == pytest.approx(108 / 105 - 1)
    throughput, latency = result.lines(table).remarks
    assert throughput.endswith("rounds 9.5% apart: no more than rounds differ)")
    assert latency == (
        "latency: lanes=2, graph_tokens=2048 (1.00 ms alone, 100.0% better than the default, "
        "rounds 0.0% apart)"
    )


def test_a_limit_that_one_round_missed_is_not_kept() -> None:
    usual = Setting(1, 2048)
    loops = [{"requests_per_s": 9.0, "p99_ms": ms, "failed": 0, "concurrency": 4} for ms in (8, 12)]
    runs = [
        Run(usual, turn, {"p50_ms": 1.0, "p99_ms": 1.0}, [loop], 1)
        for turn, loop in enumerate(loops)
    ]
    head = {"slo_ms": 10.0, "device": "d", "model": "m", "dtype": "float32",
            "beam_width": 4, "prompt_tokens": 9}  # fmt: skip
    table = result.result(head, runs, Space([usual]), usual, 2)
    assert table["best"]["throughput"] is None
    assert "has 12.0 ms: give a greater --slo-ms" in "".join(result.lines(table).remarks)


def test_a_checkpoint_is_tuned(tmp_path: Path, rt: Runtime) -> None:
    out = tmp_path / "engine.json"
    with as_file(files("xgr.demo")) as folder:
        model = ("--model", folder / "model", "--catalog", folder / "items.jsonl")
        cli(*model, *ASKED[2:], *SHORT, "--max-lanes", "1", "--rounds", "1", "--out", out)
    found = json.loads(out.read_text())
    assert found["model"] == "model"
    assert found["catalog"] == "items.jsonl"
    assert found["device"] == rt.backend.device
    assert str(folder) not in out.read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((*ASKED, "--model", "qwen3-tiny"), "is a shape without weights: add --random-weights"),
        ((*TINY, *ASKED, "--budget", "soon"), "--budget is 'soon', need seconds or minutes"),
        ((*TINY, *ASKED, "--max-lanes", "0"), "--max-lanes is 0, need a positive number"),
        ((*TINY, *ASKED, "--normalize", "odd"), "cannot be started: normalize is 'odd', allowed"),
        ((*TINY, *ASKED, *SHORT, "--budget", "0"), "no setting was measured: give more --budget"),
    ],
)
@pytest.mark.usefixtures("rt")
def test_the_command_refuses_what_it_cannot_do(
    tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        cli(*words, "--out", tmp_path / "engine.json")
    assert message in str(caught.value)
