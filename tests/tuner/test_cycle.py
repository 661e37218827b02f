"""Measure, fit, report and use: the whole cycle on the CPU, interrupted and taken up again."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner

from tests.tuner.command import cli
from tests.tuner.rows import LARGE, SMALL, changed, journal, problem, row, rows, runtime
from xgr.cli.main import app
from xgr.errors import InputError
from xgr.tuner import report, run, sample, write
from xgr.tuner.journal import Journal, read


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Problems of microseconds."""
    tiny = sample.Range((1, 2), (8, 32), (32, 256), (16, 64), ({"H": 2, "G": 1, "d": 16},), 1e8)
    monkeypatch.setitem(sample.RANGES, "cpu_ref", tiny)


@pytest.mark.usefixtures("small")
def test_what_is_tuned_is_used_and_said_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("tune", "--budget", "60s", "--problems", "16", "--out", tmp_path)
    said = cli(*words, "--op", "beam_sort", "--op", "shared_attention")
    for op in ("beam_sort", "shared_attention"):
        table = tmp_path / f"{op}.float32.json"
        assert f"{table} is written" in said
        text = cli("tune", "report", table)
        assert "tuned table" in text
        assert "4 problems held out" in text
        monkeypatch.setenv("XGR_TABLES", str(tmp_path))
        rt = runtime()
        measured, other = islice(sample.problems(op, "float32", rt.backend), 15, 17)
        lines = str(rt.explain(op, measured))
        assert f"(by tuned table {table.name}, a measured row)" in lines
        assert " us, the fastest of its row" in lines
        lines = str(rt.explain(op, other))
        assert f"tuned table {table.name}, leaf " in lines
        assert "predicted: " in lines
        rt.bind(op, other)
    plot = tmp_path / "regret.svg"
    cli("tune", "report", tmp_path / "beam_sort.float32.json", "--plot", plot)
    assert plot.stat().st_size > 1000


@pytest.mark.usefixtures("small")
def test_a_run_goes_on_where_it_was_interrupted(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"

    def stop(done: int, total: int, left: float) -> None:
        if done == 3:
            raise KeyboardInterrupt

    ask: Callable[..., Journal] = lambda progress: run.measure(  # noqa: E731
        runtime(), "beam_sort", "float32", path, 60, 8, progress
    )
    with pytest.raises(KeyboardInterrupt):
        ask(stop)
    before = path.read_text()
    # cut in the middle of the third row
    path.write_text(before[:-20])
    seen: list[tuple[int, int]] = []
    whole = ask(lambda done, total, left: seen.append((done, total)))
    assert seen == [(done, 10) for done in range(3, 11)]
    assert path.read_text().splitlines()[:3] == before.splitlines()[:3]
    assert sorted((r.at, r.second) for r in whole.rows) == sorted(
        [(at, False) for at in range(8)] + [(3, True), (7, True)]
    )
    assert [r.at for r in read(path)[1]] == [r.at for r in whole.rows]
    assert ask(None).rows == whole.rows  # nothing is left to measure, nobody is told


def test_the_budget_ends_a_run(tmp_path: Path) -> None:
    assert run.measure(runtime(), "beam_sort", "float32", tmp_path / "a", 0.0, 8).rows == []


def test_rows_of_other_kernels_are_not_gone_on_with(tmp_path: Path) -> None:
    path = journal(tmp_path / "rows.jsonl", rows(4))
    first, _, rest = path.read_text().partition("\n")
    path.write_text(json.dumps(json.loads(first) | {"sources": {"cpu_ref.fast": "old"}}) + "\n")
    with pytest.raises(InputError, match=r"holds rows of sources .*'old'.* remove it or give"):
        run.measure(runtime(), "beam_sort", "float32", path, 1)
    path.write_text(first + "\n{}\n" + rest)
    with pytest.raises(InputError, match="line 2 holds no measured row: KeyError"):
        run.measure(runtime(), "beam_sort", "float32", path, 1)


def test_what_cannot_be_tuned_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'embed' is not tuned; tuned ops: beam_sort, "):
        run.measure(runtime(), "embed", "float32", tmp_path / "a", 1)
    with pytest.raises(InputError, match="leaves nothing to choose"):
        run.measure(runtime(), "beam_step", "float32", tmp_path / "a", 1, 8)
    for problems in (0, -3):
        with pytest.raises(InputError, match=f"problems is {problems}, need a positive number"):
            run.measure(runtime(), "beam_sort", "float32", tmp_path / "a", 1, problems)
    with pytest.raises(InputError, match="'float99', allowed: float32, bfloat16, float16"):
        run.measure(runtime(), "beam_sort", "float99", tmp_path / "a", 1)
    with pytest.raises(InputError, match="cannot be written: Is a directory; give another --out"):
        run.measure(runtime(), "beam_sort", "float32", tmp_path, 1, 8)


@pytest.mark.parametrize("words", [("tune",), ("tune", "cost-model", "--device", "cpu")])
def test_where_nothing_can_be_written_nothing_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setattr(run, "draw", lambda *given: pytest.fail("it began"))
    file = tmp_path / "file"
    file.touch()
    (tmp_path / "a.rows.jsonl").mkdir()
    for out in (file / "tables", file / "a.json", tmp_path / "a.json"):
        said = cli(*words, "--op", "beam_sort", "--out", out, code=1)
        assert f"{out.with_suffix('')}" in said
        assert " cannot be written: " in said


def test_an_unknown_op_is_refused_before_another_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "measure", lambda *given: pytest.fail("it began"))
    said = cli("tune", "--op", "beam_sort", "--op", "embed", "--out", tmp_path / "a", code=1)
    assert "'embed' is not tuned" in said
    assert not (tmp_path / "a").exists()


def test_a_plot_that_cannot_be_drawn_is_refused_before_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "a.json"
    write.write(journal(tmp_path / "a.rows.jsonl", rows()), table)

    def refused(plot: Path) -> str:
        said = cli("tune", "report", table, "--plot", plot, code=1)
        assert "held out" not in said
        return said

    assert "allowed: .png, .svg, .pdf" in refused(tmp_path / "a.xyz")
    assert f"{table / 'a.png'} cannot be written: " in refused(table / "a.png")
    with monkeypatch.context() as patch:
        patch.setattr(importlib.util, "find_spec", lambda name: None)
        assert "a plot needs matplotlib, which is missing" in refused(tmp_path / "a.png")

    def full(*_: object) -> None:
        raise OSError("no space is left")

    monkeypatch.setattr(Figure, "savefig", full)
    with pytest.raises(InputError, match=r"a\.png cannot be written: no space is left"):
        report.plot([json.loads(table.read_text())], tmp_path / "a.png")


def test_the_tree_finds_what_decides_and_judges_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = write.write(journal(tmp_path / "a.rows.jsonl", rows()), tmp_path / "a.json")
    judged = table["held_out"]
    assert judged["problems"] == 8
    assert judged["tree"] == {"mean": 0, "p95": 0, "worst": 0}
    assert judged["heuristic"]["mean"] == pytest.approx(1.0)
    assert judged["fixed_candidate"] == LARGE
    assert judged["fixed"]["worst"] == pytest.approx(0.5)
    assert judged["noise"] == pytest.approx(0.01)
    monkeypatch.setenv("XGR_TABLES", str(tmp_path))
    rt = runtime()
    for columns, config in ((11, {"tiles": 2}), (999, {"tiles": 8})):
        choice = rt.bind("beam_sort", problem(columns)).choice
        assert choice.config == config
        assert choice.entry is not None
        assert choice.entry.over_best == pytest.approx(1.0)
        assert choice.entry.predicted_us == pytest.approx(columns, rel=0.7)
    assert SMALL != LARGE


def test_few_rows_give_no_table(tmp_path: Path) -> None:
    path = journal(tmp_path / "a.rows.jsonl", rows(8))
    with pytest.raises(InputError, match="6 rows give no tree, need 8"):
        write.write(path, tmp_path / "a.json")


def test_a_candidate_that_a_problem_does_not_list_counts_as_its_own_rule(tmp_path: Path) -> None:
    lacking = [
        r if r.at % 2 else type(r)(r.at, r.second, r.problem, r.own,
                                   {n: t for n, t in r.us.items() if n != LARGE}, {})
        for r in rows()
    ]  # fmt: skip
    table = write.write(journal(tmp_path / "a.rows.jsonl", lacking), tmp_path / "a.json")
    # half of the rows beyond 100 columns would get the own rule, twice SMALL's time there
    assert table["held_out"]["tree"]["mean"] < 0.6


def test_two_tables_are_compared_by_the_rows_of_both(tmp_path: Path) -> None:
    write.write(journal(tmp_path / "a.rows.jsonl", rows()), tmp_path / "a.json")
    flat = [row(r.at, r.problem.sizes["C"] % 100 + 1, second=r.second) for r in rows()]
    write.write(journal(tmp_path / "b.rows.jsonl", flat), tmp_path / "b.json")
    assert "0 of 32 problems differ" in cli(
        "tune", "diff", tmp_path / "a.json", tmp_path / "a.json"
    )
    text = cli("tune", "diff", tmp_path / "a.json", tmp_path / "b.json")
    assert f"{LARGE}" in text
    assert "C=178" in text
    changed(tmp_path / "b.json", dtype="bfloat16")
    with pytest.raises(InputError, match="dtype is float32 and bfloat16: nothing to compare"):
        CliRunner().invoke(
            app, ["tune", "diff", str(tmp_path / "a.json"), str(tmp_path / "b.json")],
            catch_exceptions=False,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--budget", "soon"), "--budget is 'soon', need seconds or minutes, as in 90s or 5m"),
        (("--out", "a.json"), "--out a.json is one file for 3 ops: give a folder"),
        (("--device", "null"), "nothing is tuned on this device unless --op says what"),
        (("report", "gone.json"), "gone.json is no tuned table: FileNotFoundError"),
        (("report", __file__), "is no tuned table: JSONDecodeError"),
        (("fit", "/gone.rows.jsonl"), "/gone.rows.jsonl cannot be read: No such file"),
        (("--problems", "0"), "--problems is 0, need a positive number"),
        (("--problems", "-3"), "--problems is -3, need a positive number"),
        (("cost-model", "--problems", "0"), "--problems is 0, need a positive number"),
        (("--op", "beam_sort:float99"), "beam_sort: dtype 'float99', allowed: float32, bfloat16"),
    ],
)
def test_the_command_refuses_what_it_cannot_do(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError) as caught:
        CliRunner().invoke(app, ["tune", *words], catch_exceptions=False)
    assert message in str(caught.value)
