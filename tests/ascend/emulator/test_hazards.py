"""Every hazard that is modelled is caught, by its own message, and only where it is."""

from __future__ import annotations

import re

import pytest

from tests.ascend.emulator import api, hazards
from tests.ascend.emulator.built import CSRC, HERE, need_compiler

need_compiler()


def test_every_small_kernel_is_expected_to_say_something() -> None:
    assert set(hazards.small_names()) == set(hazards.SMALL)


@pytest.mark.parametrize("name", hazards.SMALL)
def test_a_small_kernel_runs_and_its_fault_is_caught(name: str) -> None:
    assert hazards.run_small(name, wrong=False) == ""
    assert hazards.SMALL[name] in hazards.run_small(name, wrong=True)


def test_messages_name_kernel_core_and_line() -> None:
    source = (HERE / "hazards_of" / "places.h").read_text().splitlines()
    (line,) = [n for n, text in enumerate(source, 1) if "k.a[wrong ? 1 : 8]" in text]
    message = hazards.run_small("unaligned_operand", wrong=True)
    assert message.startswith(f"unaligned_operand, core 0, places.h:{line}: ")


def test_every_fault_of_the_kernels_is_tried() -> None:
    sources = "".join(p.read_text() for p in sorted((CSRC / "kernels").iterdir()))
    assert set(re.findall(r'XGR_FAULT\("(\w+)"\)', sources)) == set(hazards.FAULTS)


@pytest.mark.parametrize("name", hazards.FAULTS)
def test_a_fault_in_a_kernel_is_caught(name: str) -> None:
    assert hazards.run_fault(name, on=False) == ""
    assert hazards.FAULTS[name].message in hazards.run_fault(name, on=True)


def test_the_kernels_call_nothing_that_is_not_emulated() -> None:
    assert api.used() <= api.emulated()
    # what is emulated and unused is the right side of a hazard's kernel, or dead
    assert len(api.used()) >= 35
