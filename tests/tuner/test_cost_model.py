"""Tables of cost models: marked as such, behind what was measured, refused without a model."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest

from tests.tuner.command import cli
from tests.tuner.rows import changed
from xgr.backends.ascend import _compat, roofline
from xgr.errors import Reason
from xgr.ops import specs
from xgr.ops.spec import Problem
from xgr.registry.table import MEASURED, MODELLED
from xgr.registry.tables import Tables
from xgr.runtime import planned
from xgr.tuner.space import Candidate

CHIP = "Ascend910B1"
NAME = "staged_attention.bfloat16.json"


def staged(rows: int = 512, tokens: int = 4096, requests: int = 4) -> Problem:
    sizes = {"R": rows, "T": tokens, "B": requests, "S": 2, "H": 16, "G": 8, "d": 128}
    return Problem.of("staged_attention", "bfloat16", {"ancestors": True}, **sizes)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("modelled")
    said = cli(
        "tune", "cost-model", "--device", "npu", "--soc", CHIP, "--problems", 32, "--out", out
    )
    assert MODELLED in said
    assert f"{out / NAME} is written" in said
    return out


def test_the_table_says_that_nothing_was_measured(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = json.loads((folder / NAME).read_text())
    assert (table["basis"], table["device"]) == (MODELLED, "ascend910b1")
    assert {"ascend.fia", "ascend.split"} == {one["kernel"] for one in table["candidates"]}
    assert MODELLED in cli("tune", "report", folder / NAME)
    monkeypatch.setenv("XGR_TABLES", str(folder))
    with pytest.warns(UserWarning, match=MODELLED):
        told = str(planned("npu", CHIP).explain("staged_attention", staged()))
    assert f"warning: {MODELLED}, for ascend910b1" in told
    assert "measured: " not in told


def test_rows_go_on_and_are_not_taken_for_measured_ones(folder: Path) -> None:
    rows = folder / NAME.replace(".json", ".rows.jsonl")
    before = rows.read_text()
    words = ("tune", "cost-model", "--device", "npu", "--soc", CHIP, "--out", folder)
    cli(*words, "--problems", 32)
    assert rows.read_text() == before
    head, _, rest = before.partition("\n")
    rows.write_text(json.dumps(json.loads(head) | {"basis": MEASURED}) + "\n" + rest)
    assert f"holds rows of basis '{MEASURED}', now '{MODELLED}'" in cli(*words, code=1)
    rows.write_text(before)


def test_what_was_measured_goes_first(folder: Path, tmp_path: Path) -> None:
    text = (folder / NAME).read_text()
    for name, device, basis in (
        ("a.json", "ascend910b1", MODELLED),
        ("b.json", "ascend910b2", MEASURED),
        ("c.json", "ascend910b1", "guessed"),
    ):
        (tmp_path / name).write_text(text)
        changed(tmp_path / name, device=device, basis=basis)
    family = json.loads(text)["family"]
    tables = Tables("ascend910b1", family)
    tables.read(tmp_path, specs())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        entry = tables.lookup(staged())
    assert entry is not None
    assert entry.warning.startswith("measured on ascend910b2, used on ascend910b1")
    assert any("a.json: b.json serves" in text for text in tables.refused)
    assert any("c.json: basis 'guessed' is neither" in text for text in tables.refused)


def test_a_device_without_cost_models_is_refused(tmp_path: Path) -> None:
    words = ("tune", "cost-model", "--device", "cpu", "--op", "beam_sort", "--out", tmp_path)
    said = cli(*words, code=1)
    assert "has no cost model: `xgr tune` measures a device that is here" in said


def test_a_device_that_is_not_here_is_planned_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_compat, "missing", lambda: [Reason("driver", "none", "an NPU")])
    said = cli("tune", "cost-model", "--device", "npu", "--out", tmp_path, code=1)
    assert "or plan for a chip: --soc Ascend910B" in said


def us(problem: Problem, shared: int) -> float:
    return roofline.side_by_side(problem, {"shared": shared}, 24)


def test_the_model_follows_the_work() -> None:
    few, many = staged(tokens=1024), staged(tokens=65536)
    for problem in (few, many):
        assert us(problem, 12) > 0
        assert roofline.in_turn(problem, {}, 24) > 0
    # a longer prompt wants more of the cores for the shared stage
    assert min(range(1, 24), key=lambda n: us(few, n)) < min(
        range(1, 24), key=lambda n: us(many, n)
    )
    # nothing is faster than its reads
    shared, unshared, _ = roofline.stages(many)
    floor = (shared.bytes + unshared.bytes) / roofline.BYTES
    assert min(us(many, n) for n in range(1, 24)) > floor


def test_every_division_of_the_space_has_a_cost() -> None:
    rt, problem = planned("npu", CHIP), staged()
    for kernel in rt.kernels("staged_attention"):
        if kernel.cost is not None:
            for config in kernel.configs(problem, rt.backend.cores, rt.backend.arch):
                found = kernel.modelled_us(problem, config, rt.backend.cores)
                assert found is not None, Candidate(kernel.name, config)
                assert found > 0
