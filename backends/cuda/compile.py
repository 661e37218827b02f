"""Compiles what ships, without a GPU: registers, spills, shared memory, reductions of every kernel.

    python -m xgr.backends.cuda.compile --arch 90 --op kv_reorder --jobs 4

Launchers run on tensors without memory, under a driver for Triton that has a target and no
device. What they launch is compiled as on a GPU of that architecture, and never run.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import multiprocessing
import os
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget

from xgr.backends.cuda.kernels import KERNELS
from xgr.backends.cuda.lanes import scattered
from xgr.backends.cuda.shipped import served, shipped_arguments, shipped_problems
from xgr.backends.tensors import TORCH_TYPES
from xgr.ops.dtype import MODEL_DTYPES, DType
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
        error: of the compiler, where there is no binary.
        wrong: what Triton compiles wrong.
    """

    problem: Problem
    arch: int
    function: str
    registers: int
    spills: int
    shared: int
    warps: int
    error: str = ""
    wrong: Sequence[str] = ()

    @property
    def faults(self) -> Sequence[str]:
        """Why it does not fit its machine, or is wrong; empty when it is fine."""
        found = [self.error] if self.error else []
        found += self.wrong
        if self.spills:
            found.append(f"spills {self.spills} bytes a thread")
        if self.shared > SHARED[self.arch]:
            found.append(f"needs {self.shared} bytes of shared memory, has {SHARED[self.arch]}")
        return found


@dataclass(frozen=True, slots=True)
class Unit:
    """What a process compiles at a time: binaries of a problem that no unit before has."""

    arch: int
    kernel: str
    problem: Problem
    binaries: frozenset[str]


def units(
    arch: int,
    ops: Collection[str],
    sample: bool = False,
    dtypes: Collection[str] = MODEL_DTYPES,
) -> Sequence[Unit]:
    """Every binary that ships for an architecture, in one unit each; nothing is compiled.

    Without `dtypes` those that engines run.
    """
    found, known = [], set[str]()
    with _compiler(arch) as compiler:
        for kernel, problem in _shipped(arch, ops, sample, dtypes):
            fresh = frozenset(compiler.needs(kernel, problem) - known)
            known |= fresh
            if fresh:
                found.append(Unit(arch, kernel.name, problem, fresh))
    return found


def compile_unit(unit: Unit) -> tuple[Sequence[Compiled], float]:
    """The binaries of a unit, and the seconds of CPU time that they took."""
    before = sum(os.times()[:4])
    (kernel,) = (k for k in KERNELS if (k.op, k.name) == (unit.problem.op, unit.kernel))
    with _compiler(unit.arch) as compiler:
        found = compiler.compile(kernel, unit.problem, unit.binaries)
    return found, sum(os.times()[:4]) - before


def _shipped(
    arch: int, ops: Collection[str], sample: bool, dtypes: Collection[str]
) -> Iterator[tuple[Kernel, Problem]]:
    for kernel in KERNELS:
        if kernel.op in ops:
            for problem in shipped_problems(kernel.op, sample, dtypes or served(kernel.op)):
                if not kernel.unsupported(problem, f"sm_{arch}"):
                    yield kernel, problem


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
        self._wanted: Collection[str] = ()
        self._named: set[str] = set()
        self._found: list[Compiled] = []
        self._wrong: Sequence[str] = ()

    def needs(self, kernel: Kernel, problem: Problem) -> Set[str]:
        """Names of the binaries that launching a kernel asks for."""
        self._launch(kernel, problem, ())
        return self._named

    def compile(
        self, kernel: Kernel, problem: Problem, wanted: Collection[str]
    ) -> Sequence[Compiled]:
        """Those binaries of a kernel; one that fails takes the rest of its problem with it."""
        try:
            self._launch(kernel, problem, wanted)
        except Exception as error:  # whatever a compiler raises is its finding
            # Triton's messages begin with the source and end with what is wrong
            reason = str(error).strip().rpartition("\n")[2]
            text = f"{type(error).__name__}: {reason}"
            self._found.append(Compiled(problem, self.arch, kernel.name, 0, 0, 0, 0, text))
        return self._found

    def _launch(self, kernel: Kernel, problem: Problem, wanted: Collection[str]) -> None:
        self._problem, self._wanted, self._named, self._found = problem, wanted, set(), []
        with contextlib.redirect_stdout(self._log):
            launch = kernel.build(problem, _Context())
            for arguments in shipped_arguments(problem, _Context().empty):
                launch(**arguments)

    def skips(self, *, fn: Any, key: Any, **rest: Any) -> bool:
        """Whether Triton shall not compile what it has no binary of; no launch follows then."""
        name = f"{fn.module}.{fn.name} {key}"
        self._named.add(name)
        return name not in self._wanted

    def reads(self, *, metadata_group: Mapping[str, str], **rest: Any) -> None:
        """Look at what Triton has made of a kernel, before its binary is loaded."""
        (path,) = (path for name, path in metadata_group.items() if name.endswith(".ttgir"))
        self._wrong = scattered(Path(path).read_text("utf-8"))

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
        made = (registers, spills, shared, self._warps)
        self._found.append(Compiled(self._problem, self.arch, name, *made, wrong=self._wrong))
        return 1, 1, registers, spills, 1024


@contextlib.contextmanager
def _compiler(arch: int) -> Iterator[_Compiler]:
    if triton.knobs.runtime.interpret:
        raise RuntimeError("kernels are interpreted: unset TRITON_INTERPRET to compile them")
    compiler = _Compiler(arch)
    knobs = triton.knobs
    with knobs.compilation.scope(), knobs.nvidia.scope(), knobs.runtime.scope():
        knobs.compilation.always_compile = True  # a cached binary comes without the log
        knobs.nvidia.dump_ptxas_log = True
        knobs.compilation.listener = compiler.reads
        knobs.runtime.jit_cache_hook = compiler.skips
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
    """Print faults and a table; 1 when a binary is not made, or does not fit its machine."""
    parser = argparse.ArgumentParser(description=__doc__, prog="xgr.backends.cuda.compile")
    parser.add_argument("--arch", type=int, action="append", choices=sorted(SHARED))
    parser.add_argument("--op", action="append", choices=sorted({k.op for k in KERNELS}))
    parser.add_argument("--dtype", action="append", choices=MODEL_DTYPES, help="of models")
    parser.add_argument("--jobs", type=int, default=1, help="processes that compile side by side")
    parser.add_argument("--all", action="store_true", help="print a line for every binary")
    parser.add_argument("--sample", action="store_true", help="of one model; served unless told")
    parser.add_argument("--served", action="store_true", help="in the dtypes that engines run")
    parser.add_argument("--part", type=_part, default=(0, 1), help="of so many: 3/16, from 0 on")
    parser.add_argument("--list", action="store_true", help="count the binaries, compile nothing")
    parser.add_argument(
        "--lenient", action="store_true", help="spills and shared memory are shown and no faults"
    )
    options = parser.parse_args()
    ops = options.op or sorted({k.op for k in KERNELS})
    dtypes = options.dtype or (() if options.sample or options.served else MODEL_DTYPES)
    archs = options.arch or sorted(SHARED)
    work = [one for arch in archs for one in units(arch, ops, options.sample, dtypes)]
    part, parts = options.part
    work = work[part::parts]
    rows = {(one.arch, one.problem.op): _Row() for one in work}
    for one in work:
        rows[one.arch, one.problem.op].binaries += len(one.binaries)
    failed = 0
    if not options.list:
        for one, found, seconds in _compiled(work, options.jobs):
            row = rows[one.arch, one.problem.op]
            row.seconds += seconds
            for binary in found:
                if options.all or binary.faults:
                    print(_line(binary), flush=True)
                row.registers = max(row.registers, binary.registers)
                row.faults += bool(binary.error if options.lenient else binary.faults)
        failed = sum(row.faults for row in rows.values())
    print(f"{'arch':<8}{'op':<22}{'binaries':>9}{'registers':>11}{'faults':>8}{'CPU s':>8}")
    for (arch, op), row in rows.items():
        print(
            f"sm_{arch:<5}{op:<22}{row.binaries:>9}{row.registers:>11}{row.faults:>8}"
            f"{row.seconds:>8.1f}"
        )
    total, seconds = (sum(getattr(r, n) for r in rows.values()) for n in ("binaries", "seconds"))
    print(f"{total} binaries, {failed} faults, {seconds:.0f} CPU s, Triton {triton.__version__}")
    return 1 if failed else 0


def _part(text: str) -> tuple[int, int]:
    part, parts = map(int, text.split("/"))
    if not 0 <= part < parts:
        raise ValueError(text)
    return part, parts


@dataclass(slots=True)
class _Row:
    binaries: int = 0
    registers: int = 0
    faults: int = 0
    seconds: float = 0


def _compiled(work: Sequence[Unit], jobs: int) -> Iterator[tuple[Unit, Sequence[Compiled], float]]:
    """The units as they are done."""
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        pending = {pool.submit(compile_unit, one): one for one in work}
        for done in as_completed(pending):
            yield pending[done], *done.result()


def _line(one: Compiled) -> str:
    faults = "; ".join(one.faults)
    return (
        f"sm_{one.arch} {one.function}: {one.registers} registers, {one.warps} warps, "
        f"{one.shared} bytes shared [{one.problem}]{' FAULT: ' if faults else ''}{faults}"
    )


if __name__ == "__main__":
    sys.exit(main())
