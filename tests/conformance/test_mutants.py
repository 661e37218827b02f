"""The suite catches kernels that are wrong."""

import re
from collections.abc import Callable

import pytest

from tests.conformance import kv_mutants
from tests.conformance.mutants import MUTANTS, Forgetful, one_step_short
from xgr.backends.cpu_ref.backend import CpuBackend
from xgr.conformance import Outcome, Result, run_case
from xgr.conformance.entries import cases_of
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Kernel, Launcher
from xgr.runtime import Runtime


def run_until_caught(op: str, build: Callable[[Problem, Context], Launcher]) -> Result | None:
    rt = Runtime("cpu", CpuBackend())
    rt.register(Kernel(op, "mutant", build))
    results = (run_case(rt, "mutant", case) for case in cases_of(op))
    return next((r for r in results if r.outcome is Outcome.FAIL), None)


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_caught(name: str) -> None:
    op, wrong = MUTANTS[name]
    caught = run_until_caught(op, lambda problem, context: wrong)
    assert caught is not None
    assert not any(re.match(r"\w+Error: ", note) for note in caught.notes)


def test_one_step_short_is_caught() -> None:
    assert run_until_caught("unshared_attention", one_step_short) is not None


def test_state_between_launches_is_caught() -> None:
    caught = run_until_caught("beam_step", lambda problem, context: Forgetful())
    assert caught is not None
    assert "runs again" in caught.notes[0]


def test_a_correct_kernel_is_not() -> None:
    from xgr.backends.cpu_ref.reference.beam_sort import build

    assert run_until_caught("beam_sort", build) is None


def test_every_file_of_mutants_is_read() -> None:
    assert kv_mutants.moves_keys_only.__name__ in MUTANTS
