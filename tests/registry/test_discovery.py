"""Backends of other packages through real entry points; what an import of xgr brings in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.data import ROOT
from xgr.errors import BackendMissing
from xgr.registry import discover
from xgr.runtime import runtime

MODULE = """
from xgr.backends.base import Probe
from xgr.backends.null.backend import NullBackend
from xgr.errors import Reason

class Theirs(NullBackend):
    name = "theirs"

class Absent(NullBackend):
    @classmethod
    def probe(cls):
        return Probe(False, "no device", (Reason("driver", "none", "4.2", "apt install moon"),))

class Unprobed(NullBackend):
    @classmethod
    def probe(cls):
        raise OSError("bus error")

class Unmade(NullBackend):
    def __init__(self):
        raise RuntimeError("no memory")
"""

POINTS = {
    "theirs": "their_backend:Theirs",
    "cpu": "their_backend:Theirs",
    "absent": "their_backend:Absent",
    "unprobed": "their_backend:Unprobed",
    "unmade": "their_backend:Unmade",
    "nameless": "their_backend:Nobody",
    "gone": "their_gone:Backend",
    "broken": "their_broken:Backend",
    "syntax": "their_syntax:Backend",
}

ASK = """
import json, sys, xgr
from typer.testing import CliRunner
from xgr.cli.main import app
from xgr.errors import BackendMissing

asked = {}
for device in sys.argv[1:]:
    try:
        asked[device] = type(xgr.runtime(device).backend).__name__
    except BackendMissing as error:
        asked[device] = str(error)
doctor = CliRunner().invoke(app, ["doctor", "--json"], catch_exceptions=False)
text = CliRunner().invoke(app, ["doctor"], catch_exceptions=False)
result = {"asked": asked, "exit": doctor.exit_code, "text": text.output}
print(json.dumps(result | {"doctor": json.loads(doctor.output)}))
"""

Report = dict[str, dict[str, Any]]
Found = tuple[dict[str, str], Report, str]


def distribution(folder: Path, name: str, points: dict[str, str]) -> None:
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [f"{device} = {path}" for device, path in points.items()]
    (info / "entry_points.txt").write_text("\n".join([f"[{discover.GROUP}]", *lines, ""]))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """What a fresh interpreter sees: runtimes by device, doctor's reports, doctor's text."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "their_backend.py").write_text(MODULE)
    (folder / "their_broken.py").write_text("raise RuntimeError('built for another xgr')\n")
    (folder / "their_syntax.py").write_text("def (\n")
    distribution(folder, "xgr-theirs", POINTS)
    # sorts after it, though its folder comes first on the path
    distribution(folder / "first", "zz-theirs", {"theirs": "their_gone:Backend"})
    path = os.pathsep.join([str(folder / "first"), str(folder)])
    done = subprocess.run(
        [sys.executable, "-c", ASK, *POINTS, "nobody"],
        env={**os.environ, "PYTHONPATH": path},
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    result = json.loads(done.stdout)
    assert result["exit"] == 0
    taken = [r for r in result["doctor"]["backends"] if "the name is taken" in r["summary"]]
    assert [(r["device"], r["summary"].split()[0]) for r in taken] == [
        ("cpu", "xgr-theirs"),
        ("theirs", "zz-theirs"),
    ]
    reports = {r["device"]: r for r in result["doctor"]["backends"] if r not in taken}
    return result["asked"], reports, result["text"]


def test_a_backend_of_another_package_serves_under_its_name(found: Found) -> None:
    asked, reports, text = found
    assert asked["theirs"] == "Theirs"
    assert reports["theirs"]["usable"]
    assert reports["theirs"]["origin"] == "xgr-theirs"
    assert "ok theirs shapes only, no arithmetic (xgr-theirs)" in " ".join(text.split())


def test_it_does_not_replace_a_built_in_one(found: Found) -> None:
    asked, reports, text = found
    assert asked["cpu"] == "CpuBackend"
    assert reports["cpu"]["origin"] == "built in"
    assert "-- cpu xgr-theirs is ignored: the name is taken" in " ".join(text.split())


@pytest.mark.parametrize(
    ("device", "reason"),
    [
        ("absent", "driver: got none, need 4.2 (apt install moon)"),
        ("unprobed", "OSError: bus error"),
        ("nameless", "AttributeError: module 'their_backend' has no attribute 'Nobody'"),
        ("gone", "ModuleNotFoundError: No module named 'their_gone'"),
        ("broken", "RuntimeError: built for another xgr"),
        ("syntax", "SyntaxError"),
    ],
)
def test_a_broken_backend_is_reported_with_the_reason(
    device: str, reason: str, found: Found
) -> None:
    asked, reports, text = found
    assert reason in asked[device]
    assert f"device {device!r}" in asked[device]
    assert reports[device]["usable"] is False
    assert reports[device]["origin"] == "xgr-theirs"
    assert reason in str(reports[device])
    assert reason in text


def test_a_backend_that_cannot_be_made_is_missing(found: Found) -> None:
    asked, _, _ = found
    assert (
        "device 'unmade' (xgr-theirs) cannot be started: RuntimeError: no memory"
        in (asked["unmade"])
    )


def test_an_unknown_device_lists_all_that_are_known(found: Found) -> None:
    asked, _, _ = found
    assert "no backend for device 'nobody'" in asked["nobody"]
    assert f"known: {', '.join(sorted({*POINTS, 'cuda', 'npu', 'null'}))}" in asked["nobody"]


def test_names_of_devices_are_lower_case() -> None:
    with pytest.raises(BackendMissing, match="no backend for device 'CPU'; known: cpu, cuda, "):
        runtime("CPU")


def test_importing_xgr_brings_neither_arrays_nor_a_second_identity() -> None:
    code = (
        "import sys, xgr\n"
        "first = [m for m in ('numpy', 'torch') if m in sys.modules]\n"
        "xgr.runtime('cpu'), xgr.runtime('null'), xgr.Recommender, xgr.Catalogue\n"
        "then = [m for m in ('torch', 'transformers', 'backends', 'tuner') if m in sys.modules]\n"
        "print(first, then)\n"
    )
    # from the repository's root, where the bare names could be imported
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split("\n")[0] == "[] []"
