from __future__ import annotations

import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xgr
from tests.data import ROOT
from xgr.bench import record
from xgr.env import VARIABLES
from xgr.errors import InputError


def read(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


def git(folder: Path, *words: str) -> str:
    given = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words]
    return subprocess.run(
        given, cwd=folder, capture_output=True, text=True, check=True
    ).stdout.strip()


def test_environment_says_where_and_what() -> None:
    found = record.environment()
    assert found["machine"]["cores"] >= 1
    assert found["machine"]["cpu"]
    assert found["machine"]["memory_bytes"] > 2**28
    assert found["packages"]["xgr"] == xgr.__version__
    assert found["packages"]["numpy"] == np.__version__
    assert found["date"].endswith("+00:00")


def test_environment_names_the_variables_that_are_not_at_their_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in VARIABLES:
        monkeypatch.delenv(variable.name, raising=False)
    assert record.environment()["variables"] == {}
    monkeypatch.setenv("XGR_DETERMINISTIC", "0")
    assert record.environment()["variables"] == {}
    monkeypatch.setenv("XGR_DETERMINISTIC", "1")
    monkeypatch.setenv("XGR_TABLES", f"{ROOT}/tables/mine")
    monkeypatch.setenv("XGR_ASCEND_OPS", "/home/me/libops.so")
    named = {
        "XGR_DETERMINISTIC": "1",
        "XGR_TABLES": "tables/mine",
        "XGR_ASCEND_OPS": "libops.so",
    }
    # relative already here: tuned tables hold the environment without `write`
    assert record.environment()["variables"] == named
    assert read(record.write(tmp_path / "r.json", "toy", 1))["environment"]["variables"] == named


def test_record_imports_no_torch() -> None:
    code = (
        "import sys; from xgr.bench import record; record.environment(); "
        "assert 'torch' not in sys.modules and 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_absent_package_has_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    assert record.environment()["packages"]["torch"] is None


def test_git_marks_changed_sources_but_not_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path.resolve()
    monkeypatch.setattr(record, "ROOT", root)
    for name in ("code.py", "benchmarks/results/a.json"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("1")
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-qm", "one")
    commit = git(root, "rev-parse", "HEAD")
    assert record.environment()["git"] == {"commit": commit, "dirty": False}
    (root / "benchmarks/results/a.json").write_text("2")
    assert record.environment()["git"]["dirty"] is False
    (root / "code.py").write_text("2")
    assert record.environment()["git"]["dirty"] is True
    (root / "inside").mkdir()
    monkeypatch.setattr(record, "ROOT", root / "inside")
    assert record.environment()["git"] is None


@pytest.mark.parametrize(
    ("argv", "typed"),
    [
        ([f"{ROOT}/benchmarks/a.py", "--users", "0:9"], "python benchmarks/a.py --users 0:9"),
        (["/home/me/v/bin/xgr", "demo"], "xgr demo"),
        (["/v/xgr", "--json=/home/me/out.json", "/home/me/x y"], "xgr --json=out.json 'x y'"),
        (["xgr", f"{ROOT.parent}/shared/models/m", "../a/b"], "xgr ../shared/models/m ../a/b"),
        (["xgr", "~/secret/m", "a=/b"], "xgr m a=/b"),
    ],
)
def test_command_is_relative_to_the_repository(argv: list[str], typed: str) -> None:
    assert record.command(argv) == typed


def test_command_names_a_module_that_was_run(tmp_path: Path) -> None:
    (tmp_path / "bench_x.py").write_text("from xgr.bench.record import command; print(command())")
    run = [sys.executable, "-m", "bench_x", "-k", "3"]
    done = subprocess.run(run, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "python -m bench_x -k 3\n"


def test_write_is_stable_sorted_and_free_of_home_paths(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "r.json"
    results = {
        "z": np.float32(0.5),
        "a": [np.int64(3), {"file": "/home/me/x.npy"}],
        "s": f"1/2 in {Path.home()}/x",
    }
    assert record.write(path, "toy", results, settings={"model": Path(ROOT / "m")}) == path
    got = read(path)
    assert got["results"] == {"z": 0.5, "a": [3, {"file": "x.npy"}], "s": "1/2 in ~/x"}
    assert got["settings"] == {"model": "m"}
    assert list(got) == ["environment", "name", "results", "settings"]
    assert list(got["results"]) == ["a", "s", "z"]
    assert str(Path.home()) not in path.read_text(encoding="utf-8")
    assert path.read_text(encoding="utf-8").endswith("}\n")
    assert [entry.name for entry in path.parent.iterdir()] == ["r.json"]


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), object(), {1, 2}])
def test_write_refuses_what_is_no_json_and_keeps_the_old_file(tmp_path: Path, bad: object) -> None:
    path = record.write(tmp_path / "r.json", "toy", 1)
    with pytest.raises(InputError, match="record of 'toy' cannot be JSON"):
        record.write(path, "toy", {"value": bad})
    assert read(path)["results"] == 1


def test_peak_counts_this_process_alone() -> None:
    held = bytearray(96 * 2**20)
    assert record.peak_rss_bytes() > len(held)
    code = "from xgr.bench.record import peak_rss_bytes; print(peak_rss_bytes())"
    child = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert 2**20 < int(child.stdout) < 80 * 2**20
