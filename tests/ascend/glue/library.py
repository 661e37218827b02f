"""The operators of `csrc` on emulated kernels, built with CMake as its own comment says."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.data import ROOT

CSRC = ROOT / "backends" / "ascend" / "csrc"
NAME = "libxgr_ascend_ops.so"


@functools.cache
def built() -> Path:
    """The library; built when a source or torch changes.

    Raises:
        AssertionError: with what the compiler says.
    """
    from importlib.metadata import version

    digest = hashlib.sha256(f"{version('torch')} {version('torch_npu')}".encode())
    for path in sorted(p for p in CSRC.rglob("*") if p.suffix in {".h", ".cpp", ".txt"}):
        digest.update(path.read_bytes())
    folder = Path(tempfile.gettempdir()) / f"xgr-glue-{os.getuid()}-{digest.hexdigest()[:16]}"
    if not (folder / NAME).exists():
        unfinished = folder.with_suffix(f".{os.getpid()}")
        done = configure(unfinished, "-DXGR_ASCEND_EMU=ON")
        assert done.returncode == 0, done.stderr
        done = run("cmake", "--build", str(unfinished), "--parallel", "2")
        assert done.returncode == 0, done.stdout + done.stderr
        try:
            unfinished.rename(folder)
        except OSError:  # another process was faster
            shutil.rmtree(unfinished)
    return folder / NAME


def configure(
    build: Path, *options: str, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Configure the build of `csrc` in a folder."""
    python = f"-DPython3_EXECUTABLE={sys.executable}"
    return run(
        "cmake", "-S", str(CSRC), "-B", str(build), python, *options, environment=environment
    )


def run(
    *command: str, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command that may fail."""
    beside = str(Path(sys.executable).parent)
    chosen = dict(os.environ if environment is None else environment)
    chosen["PATH"] = f"{beside}:{os.environ['PATH']}"
    return subprocess.run(list(command), capture_output=True, text=True, check=False, env=chosen)
