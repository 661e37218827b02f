"""Conformance of what Triton-Ascend lowers kernels to: its linalg, run on this machine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.ascend.triton.compiled.launches import handing_to
from tests.ascend.triton.compiled.toolchain import need_toolchain
from tests.ascend.triton.compiled.x86 import run
from tests.ascend.triton.described import described_case
from tests.ascend.triton.host import on_host
from tests.ascend.triton.small import Entry, entries, name
from xgr.backends.ascend.triton.kernels import TRITON_KERNELS
from xgr.conformance import Outcome, run_case

need_toolchain()

ENTRIES = entries(rows=130, largest=1 << 17)


@pytest.fixture(autouse=True)
def _compiled() -> Iterator[None]:
    with handing_to(run):
        yield


@pytest.mark.parametrize("entry", ENTRIES, ids=name)
def test_case(entry: Entry) -> None:
    result = run_case(on_host(), "ascend.triton", entry[1])
    assert result.outcome is Outcome.OK, "\n".join(result.notes)


def test_every_kernel_has_cases() -> None:
    assert {op for op, _ in ENTRIES} == {kernel.op for kernel in TRITON_KERNELS}


def test_the_catalogue_is_read_through_its_descriptor() -> None:
    described_case()
