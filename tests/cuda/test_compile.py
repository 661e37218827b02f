"""A few kernels compile without a GPU, and fit; `xgr.backends.cuda.compile` compiles all."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cuda.interpreter import need_interpreter

need_interpreter()

FEW = ("beam_ancestors", "rope_table")


def compiled(
    *options: str, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    inherited = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    return subprocess.run(
        [sys.executable, "-m", "xgr.backends.cuda.compile", "--arch", "90", *options],
        env=inherited | dict(environment or {}),
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_few_ops_for_one_machine_each_binary_once() -> None:
    done = compiled("--all", *(word for op in FEW for word in ("--op", op)))
    assert done.returncode == 0, done.stdout + done.stderr
    *lines, total = done.stdout.splitlines()
    binaries = [line for line in lines if " registers, " in line]
    for function in ("_beam_ancestors", "_rope_table"):
        assert any(line.startswith(f"sm_90 {function}: ") for line in binaries)
    assert total.startswith(f"{len(binaries)} binaries, 0 faults, ")
    assert len({line for line in binaries if "_rope_table" in line}) == 1
    counted = compiled("--list", *(word for op in FEW for word in ("--op", op)))
    assert counted.stdout.splitlines()[-1].startswith(f"{len(binaries)} binaries, ")


def test_of_one_dtype_are_its_variants_and_those_that_have_none() -> None:
    def listed(*options: str) -> dict[str, int]:
        done = compiled("--list", "--op", "rope_table", "--op", "swiglu", *options)
        _, *rows, _ = done.stdout.splitlines()
        return {op: int(binaries) for _, op, binaries, *_ in map(str.split, rows)}

    every, one = listed(), listed("--dtype", "bfloat16")
    assert every["swiglu"] == 3 * one["swiglu"] > 0
    assert every["rope_table"] == one["rope_table"] == 1


def test_parts_are_the_whole_and_engines_run_less() -> None:
    def count(*options: str) -> int:
        done = compiled("--list", "--op", "swiglu", "--op", "beam_step", *options)
        return int(done.stdout.splitlines()[-1].split()[0])

    whole = count()
    assert count("--part", "0/2") + count("--part", "1/2") == whole
    one, logits = count("--dtype", "bfloat16", "--op", "swiglu"), count("--dtype", "float32")
    assert 0 < count("--sample") < count("--served") < one + logits < whole
    assert compiled("--part", "2/2").returncode == 2


def test_what_is_measured_is_compiled() -> None:
    from benchmarks.gpu.staged import grid
    from xgr.backends.cuda.shipped import shipped_problems

    shipped = {
        tuple(problem.sizes[axis] for axis in ("H", "G", "d", "B", "R", "T"))
        for problem in shipped_problems("staged_attention", dtypes=("bfloat16",))
    }
    for one in grid():
        sizes = one.heads, one.groups, one.size, len(one.widths), one.rows, sum(one.lengths)
        assert sizes in shipped, one


def test_what_does_not_compile_is_a_fault(tmp_path: Path) -> None:
    from triton import knobs

    assembler = tmp_path / "ptxas"
    assembler.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && exec {knobs.nvidia.ptxas.path} --version\nexit 1\n'
    )
    assembler.chmod(0o755)
    done = compiled("--op", "rope_table", environment={"TRITON_PTXAS_PATH": str(assembler)})
    assert done.returncode == 1
    assert "FAULT: PTXASError" in done.stdout
    assert "1 binaries, 1 faults" in done.stdout


@pytest.mark.parametrize(
    ("spills", "shared", "faults"), [(0, 232_448, 0), (4, 0, 1), (4, 1 << 20, 2)]
)
def test_what_does_not_fit_is_a_fault(spills: int, shared: int, faults: int) -> None:
    from xgr.backends.cuda.compile import Compiled
    from xgr.ops.spec import Problem

    one = Compiled(Problem.of("embed"), 90, "f", 255, spills, shared, 4)
    assert len(one.faults) == faults
    assert replace(one, error="no binary").faults[0] == "no binary"
