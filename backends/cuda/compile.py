"""Compiles what ships, without a GPU: registers, spills and shared memory of every kernel.

    python -m xgr.backends.cuda.compile --arch 90 --op kv_reorder --jobs 4

Launchers run on tensors without memory, under a driver for Triton that has a target and no
device. What they launch is compiled as on a GPU of that architecture, and never run.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import multiprocessing
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget

from xgr.backends.cuda.host import TORCH_TYPES
from xgr.backends.cuda.kernels import KERNELS
from xgr.backends.cuda.shipped import shipped_arguments, shipped_problems
from xgr.ops.dtype import DType
from xgr.ops.spec import Problem
from xgr.registry.kernel import Kernel, Launcher

# bytes of shared memory that a block may have, by architecture
SHARED = {80: 166_912, 90: 232_448, 100: 232_448}


@dataclass(frozen=True, slots=True)
class Compiled:
    """One binary: which function, for what, and what of the machine it takes.

    Attributes:
        registers: of a thread.
        spills: bytes a thread stores to local memory for want of registers.
        shared: bytes of a block.
    """

    problem: Problem
    arch: int
    function: str
    registers: int
    spills: int
    shared: int
    warps: int

    @property
    def faults(self) -> Sequence[str]:
        """Why it does not fit its machine; empty when it does."""
        found = []
        if self.spills:
            found.append(f"spills {self.spills} bytes a thread")
        if self.shared > SHARED[self.arch]:
            found.append(f"needs {self.shared} bytes of shared memory, has {SHARED[self.arch]}")
        return found


def compile_shipped(arch: int, op: str) -> Iterator[Compiled]:
    """Binaries of an op's shipped problems; equal ones once."""
    with _compiler(arch) as compiler:
        for kernel in KERNELS:
            if kernel.op != op:
                continue
            for problem in shipped_problems(op):
                if not kernel.unsupported(problem, f"sm_{arch}"):
                    yield from compiler.compile(kernel, problem)


@dataclass
class _Context:
    """Workspace without memory; parts are the kernels of highest priority."""

    config: Mapping[str, int] = field(default_factory=dict)

    def empty(self, shape: tuple[int, ...], dtype: DType) -> Any:
        return torch.empty(shape, dtype=TORCH_TYPES[dtype.name], device="meta")

    def bind(self, op: str, problem: Problem) -> Launcher:
        able = [k for k in KERNELS if k.op == op and not k.unsupported(problem)]
        return max(able, key=lambda k: k.priority).build(problem, self)


class _Compiler:
    """Stands in for Triton's driver: it hands out an architecture and loads nothing."""

    def __init__(self, arch: int) -> None:
        self.arch = arch
        self.utils = self  # where Triton looks for the two methods below
        self._log = io.StringIO()
        self._problem: Problem | None = None
        self._found: list[Compiled] = []

    def compile(self, kernel: Kernel, problem: Problem) -> Sequence[Compiled]:
        """What launching a kernel compiles; nothing that was compiled before."""
        self._problem, self._found = problem, []
        with contextlib.redirect_stdout(self._log):
            launch = kernel.build(problem, _Context())
            for arguments in shipped_arguments(problem, _Context().empty):
                launch(**arguments)
        return self._found

    # -- what Triton asks of a driver ---------------------------------------------------------

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", self.arch, 32)

    def get_current_device(self) -> int:
        return self.arch  # binaries are kept by device

    def get_current_stream(self, device: int) -> int:
        return 0

    def get_device_properties(self, device: int) -> dict[str, int]:
        return {"max_shared_mem": sys.maxsize}  # reported, not refused

    def launcher_cls(self, source: Any, metadata: Any) -> Any:
        self._warps = metadata.num_warps
        return lambda *arguments: None

    def load_binary(
        self, name: str, binary: bytes, shared: int, device: int
    ) -> tuple[int, int, int, int, int]:
        assert self._problem is not None
        log = self._log.getvalue()
        self._log.seek(0)
        self._log.truncate()
        registers, spills = _last(r"Used (\d+) registers", log), _last(r"(\d+) bytes spill st", log)
        self._found.append(
            Compiled(self._problem, self.arch, name, registers, spills, shared, self._warps)
        )
        return 1, 1, registers, spills, 1024


@contextlib.contextmanager
def _compiler(arch: int) -> Iterator[_Compiler]:
    if triton.knobs.runtime.interpret:
        raise RuntimeError("kernels are interpreted: unset TRITON_INTERPRET to compile them")
    compiler = _Compiler(arch)
    with triton.knobs.compilation.scope(), triton.knobs.nvidia.scope():
        triton.knobs.compilation.always_compile = True  # a cached binary comes without the log
        triton.knobs.nvidia.dump_ptxas_log = True
        triton.runtime.driver.set_active(compiler)
        try:
            yield compiler
        finally:
            triton.runtime.driver._active = None  # as before it was first used


def _last(pattern: str, log: str) -> int:
    found = re.findall(pattern, log)
    if not found:
        raise RuntimeError(f"ptxas reported no {pattern!r}: {log[-500:]!r}")
    return int(found[-1])


def main() -> int:
    """Print a line a binary; 1 when one does not fit its machine."""
    parser = argparse.ArgumentParser(description=__doc__, prog="xgr.backends.cuda.compile")
    parser.add_argument("--arch", type=int, action="append", choices=sorted(SHARED))
    parser.add_argument("--op", action="append", choices=sorted({k.op for k in KERNELS}))
    parser.add_argument("--jobs", type=int, default=1, help="processes that compile side by side")
    options = parser.parse_args()
    ops = options.op or sorted({k.op for k in KERNELS})
    work = list(product(options.arch or sorted(SHARED), ops))
    failed = 0
    with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("spawn")) as pool:
        for found in pool.map(_compile_op, work):
            for one in found:
                faults = "; ".join(one.faults)
                failed += bool(faults)
                print(
                    f"sm_{one.arch} {one.function}: {one.registers} registers, {one.warps} warps, "
                    f"{one.shared} bytes shared [{one.problem}]{' FAULT: ' if faults else ''}"
                    f"{faults}",
                    flush=True,
                )
    print(f"{failed} faults with Triton {triton.__version__}")
    return 1 if failed else 0


def _compile_op(work: tuple[int, str]) -> Sequence[Compiled]:
    arch, op = work
    return list(compile_shipped(arch, op))


if __name__ == "__main__":
    sys.exit(main())
