"""What is said of a machine without torch_npu, CANN or an NPU; runs on any machine."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from types import ModuleType
from typing import Any

import pytest

from xgr.backends.ascend import STANDING, _compat
from xgr.backends.ascend.backend import AscendBackend


def codes() -> dict[str, str]:
    """Code -> hint of every reason against this machine."""
    probe = AscendBackend.probe()
    assert probe.available == (not probe.reasons)
    assert STANDING in probe.summary
    return {reason.code: reason.hint for reason in probe.reasons}


def install(monkeypatch: pytest.MonkeyPatch, **versions: str) -> None:
    """Stand-ins for torch and torch_npu of these versions."""
    for name, version in versions.items():
        module: Any = ModuleType(name)
        module.__version__ = version
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())


def test_without_torch_npu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert codes() == {"torch_npu": 'pip install "xgr[ascend]"'}


def test_without_cann(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, torch="2.13.0")
    monkeypatch.setitem(sys.modules, "torch_npu", None)
    assert codes() == {"cann": "source /usr/local/Ascend/ascend-toolkit/set_env.sh"}


def test_versions_that_do_not_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, torch="2.14.1+cpu", torch_npu="2.13.0")
    assert codes() == {"version": 'pip install "torch_npu==2.14.*"'}


def test_whatever_is_raised_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Any:
        raise OSError("drvErr=87")

    monkeypatch.setattr(_compat, "missing", broken)
    (reason,) = AscendBackend.probe().reasons
    assert reason.got == "OSError: drvErr=87"


def test_doctor_says_that_it_never_ran_on_hardware() -> None:
    code = "from typer.testing import CliRunner\nfrom xgr.cli.main import app\n"
    code += "print(CliRunner().invoke(app, ['doctor']).output)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    (line,) = (text for text in done.stdout.splitlines() if text[3:].startswith("npu "))
    assert "experimental: compiled and emulated, never run on hardware" in line


def test_records_are_read_without_torch() -> None:
    code = (
        "import sys; from xgr.backends.ascend.backend import AscendBackend\n"
        "found = list(AscendBackend.kernels())\n"
        "print([m for m in ('torch', 'torch_npu', 'triton') if m in sys.modules], len(found))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("[] ")
    assert int(done.stdout.split()[-1]) >= 20
