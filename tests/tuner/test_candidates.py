"""Every configuration that the CPU's kernels list gives what the definition gives."""

from __future__ import annotations

import pytest

from tests.tuner.candidates import complaints
from tests.tuner.rows import runtime
from xgr.backends.cpu_ref.kernels import KERNELS, TUNED
from xgr.conformance.entries import cases_of
from xgr.registry import Kernel
from xgr.tuner import run, space

TUNABLE = [kernel for kernel in KERNELS if kernel.tunables]
# cases of an op: every so many of them
EVERY = 4


@pytest.mark.parametrize("kernel", TUNABLE, ids=[kernel.op for kernel in TUNABLE])
def test_configurations_conform(kernel: Kernel) -> None:
    found = [
        c for case in cases_of(kernel.op)[::EVERY] for c in complaints(runtime(), kernel, case)
    ]
    assert not found, "\n".join(found)


def test_a_wrong_configuration_is_found() -> None:
    kernel = next(one for one in TUNABLE if one.op == "beam_sort")
    broken = Kernel(
        kernel.op, kernel.name, lambda problem, context: lambda **arguments: None,
        tunables=("tiles",), space=lambda problem, cores, arch: [{"tiles": 4}],
    )  # fmt: skip
    assert list(complaints(runtime(), broken, cases_of("beam_sort")[0]))


def test_what_is_tuned_has_a_space() -> None:
    assert {kernel.op for kernel in TUNABLE} == set(TUNED) == set(run.DEFAULT["cpu_ref"])
    assert all(kernel.space is not None for kernel in TUNABLE)


def test_a_candidate_reads_what_it_writes() -> None:
    for one in (space.Candidate("cuda.a"), space.Candidate("cuda.a", {"b": 1, "c": 1 << 62})):
        assert space.Candidate.parse(str(one)) == one
