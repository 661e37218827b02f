"""The first run on the fake CANN, whose name the report shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.ascend.device import need_torch_npu

need_torch_npu()

from tests.ascend.beams.library import need_library  # noqa: E402  skipped before
from xgr.backends.ascend.aten.rows import Rows  # noqa: E402
from xgr.backends.ascend.selftest.__main__ import main  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:Cannot create tensor with internal format")


@pytest.fixture(autouse=True)
def library() -> None:
    need_library()


def ran(folder: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    """Exit code and report."""
    out = folder / "report.json"
    code = main(["--out", str(out), *arguments])
    return code, json.loads(out.read_text(encoding="utf-8"))


def test_limits_and_graphs_hold_and_the_runtime_is_named(tmp_path: Path) -> None:
    code, report = ran(tmp_path, "--parts", "limits", "graphs")

    assert code == 0, report
    assert any("fake" in path for path in report["machine"]["runtime"])
    assert report["machine"]["device"] == report["machine"]["table"]["name"]
    outcomes = {entry["name"]: entry["outcome"] for entry in report["graphs"]}
    for op in ("beam_step", "beam_sort", "mask_filter", "kv_reorder"):
        assert outcomes[f"{op} ascend.ascendc"] == "ok"
        assert outcomes[f"{op} ascend.torch"] == "ok"
    assert outcomes["staged_attention ascend.fia"] == "ok"
    assert outcomes["paged_attention ascend.fia"] == "ok"


def test_core_groups_are_limits_that_the_device_tells(tmp_path: Path) -> None:
    code, report = ran(tmp_path, "--parts", "core_groups", "--tokens", "16")

    assert code == 0, report
    shared = next(e for e in report["core_groups"] if e["name"] == "shared_attention")
    most = report["machine"]["soc"]["cube_cores"]
    assert [int(cores) for cores in shared["by_cube_cores"]] == [
        most, most * 3 // 4, most // 2, most // 4,
    ]  # fmt: skip
    for cores, told in shared["by_cube_cores"].items():
        assert told["limit"] == {
            "cube_core_num": int(cores), "vector_core_num": 2 * int(cores),
        }  # fmt: skip


def test_a_wrong_kernel_fails_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def everyone(self: Rows, owner: Any, row_start: Any, live: Any) -> Any:
        return owner < self.request.shape[0]

    monkeypatch.setattr(Rows, "alive", everyone)

    code, report = ran(
        tmp_path,
        "--parts",
        "conformance",
        "graphs",
        "--ops",
        "kv_append",
        "--kernels",
        "ascend.torch",
    )

    assert code == 1
    (entry,) = report["conformance"]
    assert entry["outcome"] == "fail"
    assert entry["complaints"]
