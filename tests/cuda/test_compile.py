"""A few kernels compile without a GPU, and fit; `xgr.backends.cuda.compile` compiles all."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.cuda.interpreter import need_interpreter

need_interpreter()

FEW = ("beam_ancestors", "kv_reorder", "rope_table")


def test_a_few_ops_for_one_machine() -> None:
    command = [sys.executable, "-m", "xgr.backends.cuda.compile", "--arch", "90"]
    for op in FEW:
        command += ["--op", op]
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for function in ("_beam_ancestors", "_kv_reorder", "_rope_table"):
        assert f"sm_90 {function}: " in done.stdout


@pytest.mark.parametrize(
    ("spills", "shared", "faults"), [(0, 232_448, 0), (4, 0, 1), (4, 1 << 20, 2)]
)
def test_what_does_not_fit_is_a_fault(spills: int, shared: int, faults: int) -> None:
    from xgr.backends.cuda.compile import Compiled
    from xgr.ops.spec import Problem

    one = Compiled(Problem.of("embed"), 90, "f", 255, spills, shared, 4)
    assert len(one.faults) == faults
