"""Conformance of the kernels themselves, through the interpreter of whichever Triton is here."""

from __future__ import annotations

import os
from importlib.util import find_spec

import pytest

from tests.ascend.triton.described import described_case
from tests.ascend.triton.host import on_host
from tests.ascend.triton.small import Entry, entries, name
from xgr.backends.ascend.triton.kernels import TRITON_KERNELS
from xgr.conformance import Outcome, run_case

WHY_NOT = ""
if find_spec("triton") is None:
    WHY_NOT = "needs Triton: .ci/ascend/triton installs it and runs this"
elif os.environ.get("TRITON_INTERPRET") != "1":
    WHY_NOT = "interprets kernels: run it alone, with TRITON_INTERPRET=1"
if WHY_NOT and os.environ.get("XGR_ASCEND_CHECKS") == "1":
    pytest.fail(WHY_NOT, pytrace=False)
if WHY_NOT:
    pytest.skip(WHY_NOT, allow_module_level=True)

# what the interpreters' own NumPy code warns of
pytestmark = [
    pytest.mark.filterwarnings("ignore:Conversion of an array:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning:triton.runtime.interpreter"),
]

# of a large catalogue rows have many children, which take the interpreter minutes
ENTRIES = [e for e in entries(rows=33, largest=1 << 12) if int(e[1].flags.get("items", 0)) < 1000]


@pytest.mark.parametrize("entry", ENTRIES, ids=name)
def test_case(entry: Entry) -> None:
    result = run_case(on_host(), "ascend.triton", entry[1])
    assert result.outcome is Outcome.OK, "\n".join(result.notes)


def test_every_kernel_has_cases() -> None:
    assert {op for op, _ in ENTRIES} == {kernel.op for kernel in TRITON_KERNELS}


def test_the_catalogue_is_read_through_its_descriptor() -> None:
    described_case()
