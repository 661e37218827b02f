"""Compile the fake CANN once into a cache folder and load it, or give an environment that does."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.ascend.fake_cann import symbols

SOURCES = Path(__file__).parent / "src"
MAIN = "libascendcl.so"
# opened by name when a call needs an op, so no library links to them
OPENED = {"libopapi.so", "libnnopbase.so"}
# what makes a run comparable: no second thread that queues calls, no search for another backend
SETTINGS = {"TASK_QUEUE_ENABLE": "0", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}


def _digest() -> str:
    state = hashlib.sha256()
    for path in sorted(
        [*SOURCES.rglob("*.cpp"), *SOURCES.rglob("*.h"), *Path(__file__).parent.glob("*.py")]
    ):
        state.update(path.name.encode() + path.read_bytes())
    for library in symbols.libraries():
        stat = library.stat()
        state.update(f"{library} {stat.st_size} {stat.st_mtime_ns}".encode())
    return state.hexdigest()[:16]


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr}")


def _stubs(names: list[str]) -> str:
    """A C file in which every name reports itself and returns an error, between two marks."""
    lines = ["int fake_cann_unimplemented(const char *name);", "void fake_cann_first_stub(void) {}"]
    for i, name in enumerate(names):
        lines.append(f'int stub{i}(void) __asm__("{name}");')
        lines.append(f'int stub{i}(void) {{ return fake_cann_unimplemented("{name}"); }}')
    lines.append("void fake_cann_last_stub(void) {}")
    return "\n".join(lines)


def _compile(folder: Path) -> None:
    include = symbols.package("torch_npu") / "include/third_party/acl/inc"
    flags = ["-std=c++17", "-O3", "-fPIC", "-Wall", "-Wextra", "-Werror"]
    flags.append("-Wno-unused-parameter")  # a call has more arguments than its definition needs
    paths = [f"-I{SOURCES}", f"-isystem{include}"]

    def one(source: Path) -> Path:
        name = source.relative_to(SOURCES).with_suffix(".o")
        target = folder / "-".join(name.parts)
        _run(["g++", *flags, *paths, "-c", str(source), "-o", str(target)])
        return target

    with ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(one, sorted(SOURCES.rglob("*.cpp"))))
    bare = folder / "bare.so"
    _run(["g++", "-shared", "-o", str(bare), *map(str, objects)])
    missing = (symbols.linked() | symbols.looked_up()) - symbols.defined([bare])
    source = folder / "stubs.c"
    source.write_text(_stubs(sorted(missing)))
    stubs = folder / "stubs.o"
    _run(["gcc", "-O0", "-fPIC", "-c", str(source), "-o", str(stubs)])
    link = ["g++", "-shared", "-Wl,-z,noexecstack", f"-Wl,-soname,{MAIN}"]
    _run([*link, "-o", str(folder / MAIN), *map(str, objects), str(stubs)])
    empty = folder / "empty.c"
    empty.write_text("")
    for name in sorted((symbols.needed_libraries() | OPENED) - {MAIN}):
        # a lookup in these finds what the main library has
        link = ["gcc", "-shared", f"-Wl,-soname,{name}", "-Wl,--no-as-needed", str(empty)]
        _run([*link, "-o", str(folder / name), f"-L{folder}", "-l:" + MAIN])


def build() -> Path:
    """Folder of the libraries, compiled when there is none for these sources and this wheel.

    Raises:
        FileNotFoundError: torch_npu or torch is not installed.
        RuntimeError: the compiler's message.
    """
    base = Path(tempfile.gettempdir()) / f"xgr-fake-cann-{os.getuid()}"
    folder = base / _digest()
    if not (folder / MAIN).exists():
        base.mkdir(exist_ok=True)
        scratch = Path(tempfile.mkdtemp(dir=base))
        try:
            _compile(scratch)
            with contextlib.suppress(OSError):  # another process was faster
                scratch.rename(folder)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return folder


def environment(base: Mapping[str, str]) -> dict[str, str]:
    """Environment in which a new process finds the fake CANN."""
    paths = [str(build()), *filter(None, [base.get("LD_LIBRARY_PATH")])]
    return {**base, **SETTINGS, "LD_LIBRARY_PATH": ":".join(paths)}


def load() -> ctypes.CDLL:
    """Load the fake CANN into this process, before torch_npu is imported."""
    os.environ.update(SETTINGS)
    folder = build()
    main = ctypes.CDLL(str(folder / MAIN), ctypes.RTLD_GLOBAL)
    for library in sorted(folder.glob("lib*.so")):
        ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)
    return main
