"""The commands as a user runs them: another process, plain output, exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.data import shared
from tests.engine.world import World, beams

GAMES = "data/genrec_mimi/Games/Games."


def xgr(*arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "xgr.cli.main", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == code, done.stderr
    # not a terminal: no colours, no cursor movement, no progress bar
    assert "\x1b" not in done.stdout + done.stderr
    return done


def options(world: World) -> list[object]:
    return ["--model", world.folder, "--catalog", world.index]


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Any, Any]:
    """Output, JSON and dump of the first 30 Games users."""
    folder = tmp_path_factory.mktemp("cli")
    done = xgr(
        "evaluate",
        *("--model", shared("models/games-qwen3-6m")),
        *("--catalog", shared(GAMES + "index.json")),
        *("--histories", shared(GAMES + "inter.json")),
        *("--users", "0:30", "--max-items", 50, "--beam-width", 50, "-k", 10),
        *("--json", folder / "out.json", "--dump", folder / "lists.json"),
    )
    read = [json.loads((folder / name).read_text()) for name in ("out.json", "lists.json")]
    return done.stdout, read[0], read[1]


def test_evaluate_writes_metrics(evaluated: tuple[str, Any, Any]) -> None:
    text, report, dump = evaluated
    metrics = report["results"]
    assert metrics["users"] == 30
    assert metrics["invalid_rate"] == 0
    assert metrics["users_per_s"] > 0
    users = json.loads(shared(GAMES + "inter.json").read_text())
    hits = 0
    for row in dump["rows"]:
        flat = [item for group in row["item_ids"] for item in group]
        hits += users[row["user"]][-1] in flat[:10]
    assert metrics["recall@10"] == pytest.approx(hits / 30)
    assert f"{metrics['recall@10']:.6g}" in text


def test_dump_has_the_stated_form(evaluated: tuple[str, Any, Any]) -> None:
    dump = evaluated[2]
    assert list(dump) == ["rows"]
    users = json.loads(shared(GAMES + "inter.json").read_text())
    assert [row["user"] for row in dump["rows"]] == list(users)[:30]
    for row in dump["rows"]:
        assert set(row) == {"user", "token_ids", "scores", "item_ids"}
        assert len(row["token_ids"]) == len(row["scores"]) == len(row["item_ids"]) == 50
        assert all(len(sid) == 4 for sid in row["token_ids"])
        assert row["scores"] == sorted(row["scores"], reverse=True)
        assert all(isinstance(item, int) for group in row["item_ids"] for item in group)
        assert all(group for group in row["item_ids"])


def test_recommend_as_json_and_as_text(world: World) -> None:
    asked = ["recommend", *options(world), "--history", "3,39", "-k", 4, "--beam-width", "5,9,8"]
    got = json.loads(xgr(*asked, "--json").stdout)
    want = world.recommender().recommend([[3, 39]], 4, [5, 9, 8])[0]
    assert [item["item_id"] for item in got["items"]] == [item.item_id for item in want]
    assert [item["score"] for item in got["items"]] == [item.score for item in want]
    assert got["n_valid"] == len(beams(want)) == 8
    text = xgr(*asked).stdout
    for item in want:
        assert f"{item.score:.4f}" in text
        assert "".join(world.items[int(item.item_id)]) in text


def test_recommend_takes_sids_prompts_and_exclusions(world: World) -> None:
    sids = ",".join("".join(world.items[item]) for item in (3, 39))
    forms = [["--history", "3,39"], ["--history", sids], ["--prompt", sids.replace(",", "")]]
    found = [xgr("recommend", *options(world), *form, "--json").stdout for form in forms]
    assert found[0] == found[1] == found[2]
    first = json.loads(found[0])["items"][0]["item_id"]
    less = xgr("recommend", *options(world), *forms[0], "--exclude", first, "--json").stdout
    assert first not in {item["item_id"] for item in json.loads(less)["items"]}


def test_errors_are_one_line_and_exit_code_2(world: World, tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    history = ["--history", "3"]
    cases: list[tuple[list[object], list[str]]] = [
        (["recommend", *options(world), "--history", "4711"], ["user 0", "4711"]),
        (["recommend", *options(world)], ["--history or --prompt"]),
        (["recommend", *options(world), *history, "--beam-width", "x"], ["'x'"]),
        (["recommend", *options(world), *history, "--beam-width", "4,4"], ["3 levels"]),
        (["recommend", *options(world), *history, "--device", "tpu"], ["tpu", "cpu"]),
        (["recommend", "--model", missing, *options(world)[2:], *history], ["does not exist"]),
        (["recommend", *options(world)[:2], "--catalog", missing, *history], ["missing"]),
        (["evaluate", *options(world), "--histories", missing], ["missing"]),
        (["evaluate", *options(world), "--histories", world.index, "--users", "3"], ["A:B"]),
        (["explain", "no_such_op", "R=1"], ["no_such_op"]),
        (["explain", "beam_sort", "R=x"], ["R=x"]),
    ]
    for arguments, words in cases:
        done = xgr(*arguments, code=2)
        lines = done.stderr.strip().splitlines()
        assert len(lines) == 1, done.stderr
        assert lines[0].startswith("xgr: ")
        assert all(word in lines[0] for word in words), lines[0]
        assert done.stdout == ""


def evaluating(world: World, folder: Path, users: dict[str, list[int]]) -> list[object]:
    histories = folder / "histories.json"
    histories.write_text(json.dumps(users))
    asked = ["evaluate", *options(world), "--histories", histories, "--lanes", 1]
    return [*asked, "--beam-width", 9, "-k", 5]


def test_evaluate_goes_on_when_users_fail(world: World, tmp_path: Path) -> None:
    users = {"one": [1, 2, 3], "two": [4711, 2, 3], "three": [4, 5]}
    asked = evaluating(world, tmp_path, users)
    out, dump = tmp_path / "new" / "out.json", tmp_path / "newer" / "dump.json"
    done = xgr(*asked, "--json", out, "--dump", dump)
    assert "user 'two' failed: history item 4711" in done.stderr
    results = json.loads(out.read_text())["results"]
    assert (results["users"], results["failed"]) == (2, 1)
    assert list(results["failures"]) == ["two"]
    assert [row["user"] for row in json.loads(dump.read_text())["rows"]] == ["one", "three"]
    assert "failed" not in xgr(*asked, "--unknown", "skip").stderr
    all_failed = xgr(*asked, "--users", "1:2", code=1)
    assert "user 'two' failed" in all_failed.stderr


def test_outputs_that_cannot_be_written_are_refused_first(world: World, tmp_path: Path) -> None:
    asked = evaluating(world, tmp_path, {"one": [1, 2, 3]})
    (tmp_path / "file").write_text("")
    for option in ("--json", "--dump"):
        for target in (tmp_path, tmp_path / "file" / "out.json"):
            done = xgr(*asked, option, target, code=2)
            assert done.stderr.startswith(f"xgr: {target} cannot be written: ")
            assert done.stdout == ""


def test_recommend_takes_every_filter(world: World) -> None:
    asked = ["recommend", *options(world), "--history", "3,4711", "--json"]
    assert "--unknown skip" in xgr(*asked, code=2).stderr
    skipping = [*asked, "--unknown", "skip", "--kv-mode", "reorder"]
    found = json.loads(xgr(*skipping, "--allow", "0,39,5", "--per-sid", 1).stdout)["items"]
    assert sorted(item["item_id"] for item in found) == [0, 5]  # 39 has the SID of 0


def test_wrong_variables_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XGR_KERNEL", "beam_sort=cpu_ref.fst")
    assert "XGR_KERNEL: 'cpu_ref.fst' is no kernel of beam_sort" in xgr("doctor", code=1).stdout
    report = json.loads(xgr("doctor", "--json", code=1).stdout)
    assert len(report["env_errors"]) == 1
    assert "known: cpu_ref.fast" in xgr("explain", "embed", "N=1", code=2).stderr
    monkeypatch.setenv("XGR_KERNEL", "beam_sort=other.fast,embed=cpu_ref.fast")
    assert json.loads(xgr("doctor", "--json").stdout)["env_errors"] == []
    monkeypatch.setenv("XGR_DETERMINISTIC", "yes")
    assert "XGR_DETERMINISTIC is 'yes'" in xgr("doctor", code=1).stdout


def test_the_example_of_explain_works() -> None:
    shown = " ".join(xgr("explain", "--help").stdout.split())
    example = shown.partition("Example: xgr ")[2].partition("order=rank")[0].split()
    assert "chosen" in xgr(*example, "order=rank").stdout


def test_explain_says_what_was_chosen_and_why() -> None:
    sizes = ["R=8", "V=64", "h=32"]
    text = xgr("explain", "linear_lse", *sizes).stdout
    assert "chosen" in text
    found = json.loads(xgr("explain", "linear_lse", *sizes, "--json").stdout)
    assert "chosen" in json.dumps(found)
    forced = xgr("explain", "linear_lse", *sizes, "--kernel", "cpu_ref.reference").stdout
    assert forced != text


def test_doctor_reports_every_backend() -> None:
    report = json.loads(xgr("doctor", "--json").stdout)
    by_device = {one["device"]: one for one in report["backends"]}
    assert by_device["cpu"]["usable"]
    assert by_device["null"]["usable"]
    assert all(one["summary"] for one in report["backends"])
    assert "cpu" in xgr("doctor").stdout


def test_demo_recommends_by_title_and_measures() -> None:
    text = xgr("demo").stdout
    report = json.loads(xgr("demo", "--json").stdout)
    assert "Recall" in text or "recall" in text
    titles = [item["title"] for item in report["recommended"]]
    assert titles
    assert all(titles)
    assert titles[0] in text
    metrics = report["metrics"]
    assert metrics["recall@10"] > report["popularity_recall@10"] > 0
    assert metrics["invalid_rate"] == 0
