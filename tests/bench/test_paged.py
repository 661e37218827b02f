"""The comparison with the paged baseline, at a size of no meaning."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import paged


def test_a_tiny_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record, picture = tmp_path / "paged.json", tmp_path / "paged.png"
    paged.main(["--device", "cpu", "--tiny", "--json", str(record), "--plot", str(picture)])
    results = json.loads(record.read_text())["results"]
    points = {(p["width"], p["tokens"]): p for p in results["points"]}
    assert set(points) == set(paged.TINY.points())
    assert not results["left_out"]
    for point in points.values():
        assert point["engine"]["common_items"] == 1
        assert point["engine"]["score_difference"] < 1e-5
        engine = point["engine"]
        assert engine["paged_kv_bytes"] > engine["paged_used_bytes"] > engine["staged_kv_bytes"]
        assert point["ops"]["paged_attention_us"] > 0
    assert {p["ops"]["copied_blocks"] for p in points.values()} == {1, 2}
    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert "paged_attention_us" in capsys.readouterr().out


def test_points_beyond_the_budget_are_named(tmp_path: Path) -> None:
    record = tmp_path / "paged.json"
    paged.main(["--device", "cpu", "--tiny", "--only", "ops", "--budget", "0", "--json",
                str(record)])  # fmt: skip
    results = json.loads(record.read_text())["results"]
    assert results["points"] == []
    assert len(results["left_out"]) == len(paged.TINY.points())


def test_a_plot_of_no_known_format_is_refused_before_the_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(paged, "runtime", lambda device: pytest.fail("it began"))
    with pytest.raises(SystemExit):
        paged.main(["--device", "cpu", "--tiny", "--plot", "paged.xyz"])
    assert "allowed: .png, .svg, .pdf" in capsys.readouterr().err
