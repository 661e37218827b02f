"""The committed support matrix is the generated one."""

from pathlib import Path

import pytest

from tests.data import ROOT
from xgr.conformance.support import csv_text, markdown, replace_matrix, rows, write
from xgr.errors import InputError
from xgr.ops import specs
from xgr.registry.discover import BUILT_IN

MEND = "run `xgr ops support --write` and commit what it changes"


@pytest.mark.parametrize("device", BUILT_IN)
def test_committed_csv(device: str) -> None:
    committed = ROOT / "docs" / "ops" / f"{device}.csv"
    assert committed.read_text(encoding="utf-8") == csv_text(device), MEND


def test_committed_readme() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text == replace_matrix(text, markdown(list(BUILT_IN))), MEND


def test_every_op_has_a_row_and_a_definition() -> None:
    kernels = {(row["op"], row["kernel"]) for row in rows("cpu")}
    assert {op for op, _ in kernels} == set(specs())
    assert {(op, "cpu_ref.reference") for op in specs()} <= kernels


def test_matrix_replaces_only_what_is_between_the_markers() -> None:
    text = "before\n<!-- support-matrix -->\nold\n<!-- /support-matrix -->\nafter\n"
    replaced = replace_matrix(text, "new")
    assert replaced.startswith("before\n")
    assert replaced.endswith("\nafter\n")
    assert "new" in replaced
    assert "old" not in replaced
    assert replace_matrix(replaced, "new") == replaced


def test_readme_without_markers_is_left_alone(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("no markers", encoding="utf-8")
    with pytest.raises(InputError, match="support-matrix"):
        write(["cpu"], tmp_path / "docs", readme)
    assert readme.read_text(encoding="utf-8") == "no markers"
    assert not (tmp_path / "docs").exists()
