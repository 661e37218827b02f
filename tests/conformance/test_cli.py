"""`xgr ops`, as a user calls it."""

import csv
import io
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from xgr.backends.cpu_ref.backend import CpuBackend
from xgr.cli.ops import app
from xgr.conformance import entries, table
from xgr.conformance.entries import cases_of
from xgr.conformance.perf import measure, perf_cases
from xgr.conformance.replays import MOST_SETS
from xgr.errors import InputError
from xgr.ops import specs
from xgr.ops.spec import Case
from xgr.registry.kernel import Kernel
from xgr.runtime import Runtime

ONE = ["-o", "beam_sort", "-b", "cpu", "-k", "fast", "-p", "data=nan"]


def call(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == code, result.output
    return result.output


def test_test_as_table_csv_and_json() -> None:
    assert "cpu_ref.fast" in call("test", *ONE)
    rows = list(csv.DictReader(io.StringIO(call("test", *ONE, "--format", "csv"))))
    assert rows == json.loads(call("test", *ONE, "--format", "json"))
    assert [row["outcome"] for row in rows] == ["ok"] * 2
    assert all("data=nan" in row["case"] for row in rows)


def test_test_fails_when_a_kernel_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    rt = Runtime("cpu", CpuBackend())
    rt.register(Kernel("beam_sort", "cpu_ref.wrong", lambda problem, context: lambda **_: None))
    monkeypatch.setattr(entries, "runtime_of", lambda device: rt)
    output = call("test", "-o", "beam_sort", "-b", "cpu", "-k", "wrong", code=1)
    assert "FAIL cpu:cpu_ref.wrong:beam_sort[" in output


def test_list() -> None:
    listed = json.loads(call("list", "--format", "json"))
    assert [row["op"] for row in listed] == list(specs())
    cases = json.loads(call("list", "--cases", "-o", "beam_step", "--format", "json"))
    assert {row["op"] for row in cases} == {"beam_step"}
    assert len({row["case"] for row in cases}) == len(cases)


def test_perf() -> None:
    rows = json.loads(
        call("perf", "-o", "merge_attention", "-k", "fast", "--budget", "1e-3", "--format", "json")
    )
    assert len(rows) == len(perf_cases("merge_attention"))
    assert all(float(row["ms"]) > 0 and float(row["GB/s"]) > 0 for row in rows)


def test_records(tmp_path: Path) -> None:
    tested, timed = tmp_path / "test.json", tmp_path / "perf.json"
    chosen = ("-o", "merge_attention", "-b", "cpu", "-k", "fast")
    call("test", *chosen, "--json", str(tested))
    call("perf", *chosen, "--budget", "1e-3", "--json", str(timed))
    first, second = (json.loads(path.read_text()) for path in (tested, timed))
    (counted,) = first["results"]["kernels"]
    assert counted["ok"] == len(cases_of("merge_attention"))
    assert first["results"]["failed"] == []
    assert len(second["results"]["timed"]) == len(perf_cases("merge_attention"))
    for one in (first, second):
        assert one["environment"]["command"]
        assert one["settings"]["cpu"]
    with pytest.raises(InputError, match="cannot be written"):
        CliRunner().invoke(app, ["test", *chosen, "--json", str(tmp_path)], catch_exceptions=False)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-p", "no such case"], "no case matches"),
        (["-b", "null"], "nothing was timed.*null has shapes only"),
        (["--budget", "0"], "--budget is 0.0, need a positive number"),
    ],
)
def test_perf_says_why_nothing_was_timed(words: list[str], message: str) -> None:
    result = CliRunner().invoke(app, ["perf", "-o", "rms_norm", *words])
    assert isinstance(result.exception, InputError)
    assert re.search(message, str(result.exception), re.DOTALL)


def test_perf_says_why_a_device_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xgr.cli.ops.runtime_of", lambda device: "it is not here")
    result = CliRunner().invoke(app, ["perf", "-o", "rms_norm", "-b", "null"])
    assert isinstance(result.exception, InputError)
    assert str(result.exception) == "nothing was timed\n  null: it is not here"


class OnDevice(CpuBackend):
    """Says that launches run by themselves, as those of a device."""

    arch = "made_up"


def test_on_a_device_perf_replays_launches_on_rotated_arguments() -> None:
    seen: list[int] = []

    def launch(*, out: Any, **_: Any) -> None:
        seen.append(id(out))

    rt = Runtime("cpu", OnDevice())
    rt.register(Kernel("rms_norm", "cpu_ref.spy", lambda problem, context: launch))
    case = next(iter(specs()["rms_norm"].cases()))
    timed = measure(rt, "cpu_ref.spy", case, 1e-3)
    assert len(set(seen)) == MOST_SETS
    assert len(seen) == MOST_SETS * (2 + timed.launches)


def test_support_writes_what_it_prints(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("<!-- support-matrix --><!-- /support-matrix -->", encoding="utf-8")
    output = call("support", "--write", "--docs", str(tmp_path), "--readme", str(readme))
    row = "| beam_step | fast, reference | triton | ascendc, torch | shapes |"
    assert row in output
    assert row in readme.read_text(encoding="utf-8")
    written = {path.name for path in tmp_path.glob("*.csv")}
    assert written == {"cpu.csv", "cuda.csv", "npu.csv", "null.csv"}


@pytest.mark.parametrize(
    ("arguments", "known"),
    [
        ({"op": "beam_sorted"}, "beam_sort"),
        ({"device": "tpu"}, "cpu"),
        ({"kernel": "faster"}, "cpu_ref.fast"),
        ({"pattern": "("}, "regular expression"),
    ],
)
def test_unknown_names_list_the_known(arguments: dict[str, Any], known: str) -> None:
    with pytest.raises(InputError, match=known):
        table(**arguments)


def size(case: Case) -> int:
    return math.prod(case.sizes.values())


def test_every_op_is_timed_in_larger_sizes() -> None:
    for op, declared in specs().items():
        cases, first = perf_cases(op), next(iter(declared.cases()))
        if any(case.flags.get("perf") for case in cases):
            continue
        assert all(size(case) > size(first) for case in cases), op
        typed = {case.dtype for case in declared.cases()}
        assert {case.dtype for case in cases} == typed & {"float32", "bfloat16"}, op
