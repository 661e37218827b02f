"""The first run where there is no NPU: it says what is missing, and does not pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from xgr.backends.ascend import _compat
from xgr.backends.ascend.selftest.__main__ import main
from xgr.backends.ascend.selftest.groups import effect, part
from xgr.backends.ascend.selftest.report import failed, readable, said
from xgr.backends.ascend.soc import SOCS, CoreGroup
from xgr.errors import Reason


def test_what_is_missing_is_said_and_nothing_is_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    reason = Reason("device", "none", "an Ascend NPU", "`npu-smi info` must list one")
    monkeypatch.setattr(_compat, "missing", lambda: iter((reason,)))

    assert main(["--out", str(tmp_path / "report.json")]) == 2

    assert "`npu-smi info` must list one" in capsys.readouterr().out
    assert not (tmp_path / "report.json").exists()


def test_one_failed_entry_fails_the_report_and_is_shown() -> None:
    report = a_report({"name": "beam_step ascend.torch", "outcome": "fail", "note": "score[3]"})

    assert failed(report)
    assert "something failed" in readable(report)
    assert "beam_step ascend.torch" in readable(report)


@pytest.mark.parametrize("outcome", ["ok", "missing", "gap", "wider", "measured"])
def test_other_outcomes_do_not_fail_it(outcome: str) -> None:
    report = a_report({"name": "kv_reorder ascend.ascendc", "outcome": outcome})

    assert not failed(report)
    assert "everything that ran held" in readable(report)


def test_the_cause_of_a_library_error_is_in_its_line() -> None:
    error = RuntimeError("call aclnnSort failed, error code is 561103\n[ERROR] \n  dtype INT64\n")

    assert said(error) == (
        "RuntimeError: call aclnnSort failed, error code is 561103 | [ERROR] | dtype INT64"
    )


def test_a_share_of_the_cores_keeps_vector_cores_beside_cube_cores() -> None:
    soc = SOCS["Ascend910B3"]

    assert [part(soc, share) for share in (1.0, 0.5, 0.01)] == [
        CoreGroup(20, 40), CoreGroup(10, 20), CoreGroup(1, 2),
    ]  # fmt: skip


def test_the_effect_of_fewer_cores_is_a_ratio_of_times() -> None:
    times = {"24": {"ms": 2.0}, "6": {"ms": 7.0}, "12": {"ms": 4.0}}

    assert effect(times) == "6 instead of 24 cube cores: 3.50 times the time"


def a_report(entry: dict[str, Any]) -> dict[str, Any]:
    machine: dict[str, Any] = {
        "xgr": "0",
        "device": "Ascend910B1",
        "versions": "torch",
        "runtime": [],
    }
    machine |= {"soc": {"cube_cores": 24, "vector_cores": 48}, "library": "loaded"}
    return {"machine": machine, "conformance": [entry], "seconds": {"conformance": 1.0}}
