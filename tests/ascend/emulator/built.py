"""The kernels on the emulated machine, compiled once and loaded, where there is a C++ compiler."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.data import ROOT

CSRC = ROOT / "backends" / "ascend" / "csrc"
HERE = Path(__file__).parent
# set where nothing may be skipped
CHECKS = os.environ.get("XGR_ASCEND_CHECKS") == "1"
FLAGS = ("-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared")


def need_compiler() -> None:
    """Skip the module of the caller where there is no C++ compiler, or fail where one must be."""
    if shutil.which("g++"):
        return
    if CHECKS:
        pytest.fail("needs g++: apt-get install g++")
    pytest.skip("needs g++ to build the emulated kernels", allow_module_level=True)


def compiled(name: str, sources: Sequence[Path], headers: Path = CSRC) -> Path:
    """A shared library of the sources, built again when they or a header change."""
    watched = {*CSRC.rglob("*.h"), *CSRC.rglob("*.cpp"), *headers.rglob("*.h")}
    digest = hashlib.sha256(" ".join(FLAGS).encode())
    for path in [*sorted(watched), *sources]:
        digest.update(path.read_bytes())
    folder = Path(tempfile.gettempdir()) / f"xgr-emulated-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    library = folder / f"{name}-{digest.hexdigest()[:16]}.so"
    if not library.exists():
        unfinished = library.with_suffix(f".{os.getpid()}")
        command = ["g++", *FLAGS, f"-I{CSRC / 'emulator'}", *map(str, sources)]
        done = subprocess.run(
            [*command, "-o", str(unfinished)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise AssertionError(f"{' '.join(command)}:\n{done.stderr}")
        unfinished.rename(library)
    return library


@functools.cache
def kernels() -> ctypes.CDLL:
    """The emulated kernels and their tilings."""
    sources = [CSRC / "emulator" / "launch.cpp", CSRC / "emulator" / "tiling.cpp"]
    library = ctypes.CDLL(str(compiled("kernels", sources)))
    library.emulated_error.restype = ctypes.c_char_p
    return library
