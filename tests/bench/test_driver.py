from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import engine


def test_every_part_of_the_driver_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "engine.json"
    engine.main(["--device", "cpu", "--tiny", "--lanes", "1", "--json", str(out)])
    written = json.loads(out.read_text())
    results, figures = written["results"], written["results"]["figures"]
    assert results["memory_bytes"]["peak"] >= results["memory_bytes"]["in_use"] > 0
    assert results["bytes_per_beam"]["bar"] == 2 * 2 * 2 * 2 * 16 * 2 + 65536
    assert figures["prefill 1 x 5: ms"] > 0
    assert figures["decode forward, 3 beams: ms"] > 0
    for normalize in ("level", "vocab"):
        for width in ("2", "3"):
            found = results[normalize][width]
            assert found["alone"]["requests"] == 3
            assert found["saturated"]["requests"] >= (4 if normalize == "level" else 1)
            assert f"{normalize}, {width} beams: requests/s" in figures
    assert results["cut"] == []
    assert "level, 3 beams: requests/s" in capsys.readouterr().out


def test_what_the_budget_leaves_out_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "engine.json"
    words = ["--device", "cpu", "--tiny", "--lanes", "1", "--budget", "0"]
    engine.main([*words, "--parts", "forwards", "level", "--json", str(out)])
    shown = capsys.readouterr().out
    cut = json.loads(out.read_text())["results"]["cut"]
    assert [line.partition(":")[0] for line in cut] == ["level, 2 beams", "level, 3 beams"]
    assert all(f"left out: {line}" in shown for line in cut)


def test_figures_are_judged_by_their_bars() -> None:
    figures = {"prefill 1 x 1024: ms": 1.8, "decode forward, 128 beams: ms": 1.2,
               "level, 128 beams: requests/s": 299.0, "level, 256 beams: requests/s": 310.0,
               "anything else": 5.0}  # fmt: skip
    verdicts = {row[0]: row[-1] for row in engine._judged(figures)}
    assert verdicts["prefill 1 x 1024: ms"] == "goal"
    assert verdicts["decode forward, 128 beams: ms"] == "bar"
    assert verdicts["level, 128 beams: requests/s"] == "missed"
    assert verdicts["level, 256 beams: requests/s"] == "goal"
    assert verdicts["level, 512 beams: requests/s"] == "not measured"
    assert not verdicts["anything else"]
