"""Linalg compiled to HIVM, the last IR before machine code, by Huawei's bishengir-compile."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from math import prod
from pathlib import Path

from tests.ascend.triton.compiled.linalg import Signature, linalg
from tests.ascend.triton.compiled.toolchain import bishengir

# as Triton-Ascend calls it on a machine with CANN
FLAGS = (
    "--enable-auto-multi-buffer=true",
    "--enable-auto-bind-sub-block=true",
    "--enable-hfusion-compile=true",
    "--enable-hivm-compile=true",
    "--enable-triton-kernel-compile=true",
)

# on-chip memories by their names in HIVM
SPACES = {"ub": "UB", "cbuf": "L1", "ca": "L0A", "cb": "L0B", "cc": "L0C"}

BITS = {"i1": 1, "i8": 8, "i16": 16, "f16": 16, "bf16": 16, "i32": 32, "f32": 32, "i64": 64}

_BUFFER = re.compile(r"pointer_cast\(([^)]*)\)[^:\n]* : memref<([^,>]*),[^\n]*address_space<(\w+)>")


@dataclass(frozen=True)
class Compiled:
    """A kernel as the compiler left it.

    Attributes:
        text: its HIVM.
        core: "AIV" (vector cores), "AIC" (cube cores) or "MIX".
        bytes: greatest end of a buffer in each on-chip memory that it uses.
    """

    text: str
    core: str
    bytes: dict[str, int]


@functools.cache
def hivm(of: Signature, soc: str) -> Compiled:
    """The kernel for a SoC.

    Raises:
        AssertionError: the compiler refuses it, with what it says.
    """
    with tempfile.TemporaryDirectory(prefix=f"{of.name}-{soc}-") as folder:
        text = _stage(of, soc, Path(folder))
    cores = set(re.findall(r"module_core_type<(\w+)>", text))
    assert len(cores) == 1, f"{of.name} for {soc}: core types {sorted(cores)}"
    return Compiled(text, cores.pop(), on_chip(text))


def _stage(of: Signature, soc: str, folder: Path) -> str:
    """The compiler's last stage, from files in a folder."""
    # the step after HIVM, which is not in the wheel; the compiler asks for its version
    (folder / "hivmc").write_text("#!/bin/sh\necho 0\n")
    (folder / "hivmc").chmod(0o755)
    (folder / "kernel.mlir").write_text(re.sub(r', mix_mode\s*=\s*"[^"]*"', "", linalg(of)))
    command = [
        bishengir("compile"), "kernel.mlir", f"--target={soc}", *FLAGS, "--save-temps=stages",
        "-o", "kernel.o",
    ]  # fmt: skip
    path = f"{folder}:{os.environ['PATH']}"
    done = subprocess.run(
        command, cwd=folder, env=os.environ | {"PATH": path},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{of.name} for {soc}: {done.stderr[-3000:]}"
    return (folder / "stages" / "module.hivm.opt.mlir").read_text()


def on_chip(text: str) -> dict[str, int]:
    """Greatest end of the buffers that the compiler placed in each on-chip memory, in bytes.

    A buffer is `hivm.hir.pointer_cast(%c<offset>_i64) : memref<2x16xf32, ...address_space<ub>>`,
    several offsets where it has several turns.
    """
    ends: dict[str, int] = {}
    found = _BUFFER.findall(text)
    assert len(found) == text.count("hivm.hir.pointer_cast"), "a buffer is written in another way"
    for offsets, shape, space in found:
        if space == "gm":
            continue
        *sizes, element = shape.split("x")
        size = -(-prod(map(int, sizes)) * BITS[element] // 8)
        for offset in offsets.split(", "):
            place = re.fullmatch(r"%c(\d+)_i64(?:_\d+)?", offset)
            assert place is not None, f"the place of a buffer is {offset}"
            name = SPACES[space]
            ends[name] = max(ends.get(name, 0), int(place[1]) + size)
    return ends
