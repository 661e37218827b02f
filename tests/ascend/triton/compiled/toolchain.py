"""Where the compilers are that these checks run: Huawei's bishengir, Debian's LLVM 19."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

# set by the script of this group of checks: what is missing is then a failure
REQUIRED = os.environ.get("XGR_ASCEND_CHECKS") == "1"
ROOT = Path(__file__).parents[4]


def bishengir(tool: str) -> str:
    """bishengir-`tool` of the wheel ascendnpu-ir, from the folder BISHENGIR_BIN names."""
    pattern = ".venv-bishengir/lib/python*/site-packages/ascendnpuir/bin"
    named = os.environ.get("BISHENGIR_BIN")
    folders = [Path(named)] if named else list(ROOT.glob(pattern))
    return str(folders[0] / f"bishengir-{tool}") if folders else f"bishengir-{tool}"


def llvm(tool: str) -> str:
    """A tool of LLVM 19, the version of the wheel's own IR."""
    return f"/usr/lib/llvm-19/bin/{tool}"


def missing() -> str:
    """What is not there, in one sentence; empty when the checks can run."""
    if find_spec("triton") is None or find_spec("triton.backends.ascend") is None:
        return "needs Triton-Ascend in a venv of its own: see .ci/ascend/triton"
    if os.environ.get("TRITON_INTERPRET") == "1":
        return "compiles kernels: run it without TRITON_INTERPRET"
    tools = [bishengir("opt"), bishengir("compile"), llvm("llc"), llvm("mlir-translate"), "g++"]
    absent = [tool for tool in tools if shutil.which(tool) is None]
    return f"needs {', '.join(absent)}: see .ci/ascend/triton" if absent else ""


def need_toolchain() -> None:
    """Skip the caller's module where the compilers are not installed; fail where they must be."""
    reason = missing()
    if reason and REQUIRED:
        pytest.fail(reason)
    if reason:
        pytest.skip(reason, allow_module_level=True)
