"""The figures of docs/ascend.md are those of the code."""

from __future__ import annotations

import re

from tests.ascend.emulator import api, hazards
from tests.data import ROOT
from xgr.backends.ascend import STANDING
from xgr.backends.ascend.kernels import KERNELS
from xgr.backends.ascend.selftest.__main__ import PARTS
from xgr.backends.ascend.soc import SOCS

TEXT = (ROOT / "docs" / "ascend.md").read_text(encoding="utf-8")
FLOWING = " ".join(TEXT.split())


def test_it_says_that_nothing_ran_on_hardware() -> None:
    assert STANDING in FLOWING.lower()


def test_scripts_and_paths_exist() -> None:
    for path in re.findall(r"`((?:backends|tests|\.ci)/[\w/.]+)`", TEXT):
        assert (ROOT / path).exists(), path
    listed = TEXT.partition("\n| where | what |")[2].partition("\n\n")[0]
    for cell in re.findall(r"^\| (.*?) \|", listed, re.MULTILINE):
        for name in re.findall(r"`([\w/.]+)`", cell):
            assert (ROOT / "backends" / "ascend" / name).exists(), name


def test_every_check_has_its_row() -> None:
    rows = re.findall(r"^\| (C\d) \|.*?\| (.*?) \|.*\|$", TEXT, re.MULTILINE)
    assert [name for name, _ in rows] == [f"C{n}" for n in range(1, 10)]
    scripts = {f".ci/ascend/{path.name}" for path in (ROOT / ".ci" / "ascend").iterdir()}
    assert set(re.findall(r"`(\.ci/ascend/\w+)`", TEXT)) == scripts


def test_hazards_and_functions_are_counted() -> None:
    small, real = len(hazards.SMALL), len(hazards.FAULTS)
    assert f"{small} in small kernels and {real} in the real ones" in FLOWING
    assert f"{small + real} of {small + real} caught" in FLOWING
    emulated, used = len(api.emulated()), len(api.used())
    assert f"{emulated} functions of AscendC are emulated, {used} of which" in FLOWING


def test_parts_of_the_first_run() -> None:
    listed = TEXT.partition("\n| part of the first run |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \|", listed, re.MULTILINE) == list(PARTS)


def test_chips_are_the_tables() -> None:
    sentence = FLOWING.partition("24 cube and 48 vector cores (")[2]
    large, _, rest = sentence.partition(") or 20 and 40 (")
    small = rest.partition(")")[0]
    for names, cubes in ((large, 24), (small, 20)):
        short = {
            name.removeprefix("Ascend") for name, chip in SOCS.items() if chip.cube_cores == cubes
        }
        told = {name if name.startswith("910") else f"910{name}" for name in _expanded(names)}
        assert told == short


def test_triton_kernels_are_listed() -> None:
    for kernel in KERNELS:
        if kernel.name == "ascend.triton":
            assert f"`{kernel.op}`" in TEXT.partition("## Triton kernels")[2], kernel.op


def _expanded(names: str) -> list[str]:
    """ "910B1, B2, 910_9381, 9382" with the left-out beginnings put in."""
    return [f"910_{n}" if re.fullmatch(r"\d{4}", n) else n for n in names.split(", ")]
