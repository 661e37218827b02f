"""`xgr evaluate` on the Games checkpoint: the Ascend backend on the fake device against the CPU."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.ascend.runtime.world import beam_kernels
from tests.data import shared
from xgr.cli.main import app

USERS, TOP = 20, 10
# of the mean over users, and of any common item
OVERLAP, DIFFERENCE = 0.95, 5e-2

Rows = list[dict[str, Any]]


def evaluated(folder: Path, device: str, *options: str) -> Rows:
    """Rows of `xgr evaluate` for the same users, on the CPU in float32 and on NPUs in bfloat16."""
    data, dump = shared("data/genrec_mimi/Games"), folder / f"{device}.json"
    arguments = [
        *("evaluate", "--device", device, "--dump", str(dump)),
        *("--model", str(shared("models/games-qwen3-6m"))),
        *("--catalog", str(data / "Games.index.json")),
        *("--histories", str(data / "Games.inter.json")),
        *("--users", f"500:{500 + USERS}", "--max-items", "50", "--beam-width", "50"),
    ]
    done = CliRunner().invoke(app, [*arguments, *options])
    assert done.exit_code == 0, (done.output, done.exception)
    rows: Rows = json.loads(dump.read_text())["rows"]
    assert len(rows) == USERS
    return rows


def scores(row: Mapping[str, Any]) -> dict[tuple[int, ...], float]:
    """Score of each of the best SIDs."""
    best = zip(row["token_ids"], row["scores"], strict=True)
    return dict([(tuple(tokens), score) for tokens, score in best][:TOP])


@pytest.fixture(scope="module")
def on_cpu(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    return evaluated(tmp_path_factory.mktemp("cpu"), "cpu")


@pytest.mark.parametrize("mode", ["ancestors", "reorder"])
def test_the_items_and_scores_are_those_of_the_cpu(tmp_path: Path, on_cpu: Rows, mode: str) -> None:
    beam_kernels()
    overlaps, worst = [], 0.0
    for got, want in zip(evaluated(tmp_path, "npu", "--kv-mode", mode), on_cpu, strict=True):
        ours, theirs = scores(got), scores(want)
        assert got["user"] == want["user"]
        assert len(ours) == TOP
        common = ours.keys() & theirs.keys()
        overlaps.append(len(common) / TOP)
        worst = max(worst, *(abs(ours[sid] - theirs[sid]) for sid in common))
    mean = sum(overlaps) / USERS
    print(f"{mode}: mean top-{TOP} overlap {mean:.3f}, greatest score difference {worst:.4f}")
    assert mean >= OVERLAP
    assert worst <= DIFFERENCE
