"""`xgr explain --device npu --soc`: a decode step on a chip that is not here."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner, Result

from xgr.backends.ascend.backend import AscendBackend
from xgr.cli.main import app
from xgr.errors import BackendMissing, Unsupported

MODEL = ["L=28", "H=16", "G=8", "d=128", "h=1024", "I=3072", "V=151936", "P=40960"]
BATCH = ["B=8", "R=1024", "T=8192", "S=2", "M=8192", "K=8192"]


def explain(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["explain", *arguments])


def step(soc: str, *more: str) -> str:
    chip = ["--device", "npu", "--soc", soc, "--dtype", "bfloat16"]
    found = explain("decode", *MODEL, *BATCH, *chip, *more)
    assert found.exit_code == 0, found.output
    return found.output


@pytest.mark.parametrize(
    ("soc", "cube", "vector", "split"),
    [("Ascend910B1", 24, 48, (19, 5)), ("Ascend910B3", 20, 40, (16, 4))],
)
def test_every_op_names_its_cores(soc: str, cube: int, vector: int, split: tuple[int, int]) -> None:
    text = step(soc)
    assert f"{soc}: {cube} AIC and {vector} AIV" in text
    assert f"mm [1024, 1024] x [1024, 4096]: AIC, at most {cube} cores" in text
    assert f"AIC + AIV, at most {cube} with {vector} cores" in text
    assert f"kv_reorder (AscendC): AIV, block dim {vector}; UB " in text
    assert f"core groups: none: both stages take all {cube} AIC with {vector} AIV" in text
    for name, cores in zip(("shared", "unshared"), split, strict=True):
        assert f"ascend.split: core groups: {name} {cores} AIC with {2 * cores} AIV" in text


def test_buffers_of_own_kernels_fit() -> None:
    for used, limit in re.findall(r"UB (\d+) of (\d+) bytes", step("Ascend910B1")):
        assert 0 < int(used) <= int(limit) == 188_160


def test_as_json_each_op_has_its_launches() -> None:
    found = json.loads(step("Ascend910B1", "--json"))
    assert [one["outline"] is not None for one in found] == [True] * len(found)
    assert {one["times"] for one in found} == {1, 27, 28}
    (attention,) = (one for one in found if one["chosen"] == "ascend.fia")
    assert [one["units"] for one in attention["outline"]["launches"]] == [
        "AIC + AIV", "AIC + AIV", "AIV",
    ]  # fmt: skip


def test_one_op_with_its_groups() -> None:
    sizes = ["R=512", "H=16", "G=8", "d=64", "T=4096", "S=2", "B=4"]
    found = explain(
        "staged_attention", *sizes, "--device", "npu", "--soc", "Ascend910B3",
        "--dtype", "bfloat16", "--kernel", "ascend.split",
    )  # fmt: skip
    assert "chosen: ascend.split (by kernel= argument)" in found.output
    assert "BSND, q [4, 128, 16, 64]" in found.output
    assert "runs core groups: shared " in found.output


def test_a_step_says_which_axes_it_lacks() -> None:
    found = explain("decode", "B=1", "--device", "npu", "--soc", "Ascend910B1")
    assert "need" in str(found.exception) or "lacks" in str(found.exception)
    assert "h (width of the residual stream)" in str(found.exception)


def test_other_backends_plan_for_their_own_device_only() -> None:
    found = explain("swiglu", "N=1", "I=8", "--soc", "Ascend910B1")
    assert "cpu_ref plans for the device that is here only" in str(found.exception)


def test_plans_need_no_torch() -> None:
    code = (
        "import sys\nsys.modules['torch'] = sys.modules['torch_npu'] = None\n"
        "from xgr.cli.main import main\n"
        f"sys.argv = ['xgr', 'explain', 'decode', *{[*MODEL, *BATCH]!r}, '--device', 'npu', "
        "'--soc', 'Ascend910B1', '--dtype', 'bfloat16']\nmain()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "beam step: beam_step by ascend.ascendc" in done.stdout


def test_without_the_device_a_chip_is_proposed() -> None:
    if npu_is_here():
        pytest.skip("an NPU is here")
    found = explain("decode", *MODEL, *BATCH, "--device", "npu")
    assert found.exit_code != 0
    assert isinstance(found.exception, BackendMissing)
    assert str(found.exception).endswith("; or plan for a chip: --soc Ascend910B3")


def test_a_reason_is_told_once() -> None:
    chip = ["--device", "npu", "--soc", "Ascend910B3", "--dtype", "float32"]
    found = explain("shared_attention", "B=1", "R=8", "T=64", "H=2", "G=1", "d=128", *chip)
    assert isinstance(found.exception, Unsupported)
    assert str(found.exception).count("ascend.fia: dtype") == 1


def npu_is_here() -> bool:
    return AscendBackend.probe().available
