"""What torch_npu needs of CANN, read from the wheel itself: no list of names is kept here."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

# names that glibc has, without a version in some linkers' output
_LIBC = ("pthread_", "dl", "shm_")
_LOOKED_UP = re.compile(rb"(?<![A-Za-z0-9_])acl[A-Za-z0-9]{3,}(?![A-Za-z0-9_(.:])")


def package(name: str) -> Path:
    """Folder of an installed package, found without importing it.

    Raises:
        FileNotFoundError: it is not installed.
    """
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise FileNotFoundError(f"{name} is not installed: pip install --no-deps {name}==2.13.0")
    return Path(spec.origin).parent


def libraries() -> list[Path]:
    """Shared libraries of torch_npu that name symbols of CANN."""
    root = package("torch_npu")
    return sorted([*(root / "lib").glob("*.so"), *root.glob("_C*.so")])


def _nm(files: Iterable[Path], which: str) -> list[tuple[str, str]]:
    """Pairs (kind, name) of the dynamic symbols."""
    command = ["nm", "-D", which, *map(str, files)]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = (line.split() for line in listing.splitlines())
    return [(row[-2], row[-1]) for row in rows if len(row) >= 2]


def defined(files: Iterable[Path]) -> set[str]:
    """Names that libraries or objects export."""
    return {name.split("@")[0] for _, name in _nm(files, "--defined-only")}


def linked() -> set[str]:
    """Names that the loader must find before torch_npu can be imported."""
    files = libraries()
    missing = {
        name
        for kind, name in _nm(files, "--undefined-only")
        if kind not in "wv" and "@" not in name  # a version means libc or libstdc++
    }
    torch = sorted((package("torch") / "lib").glob("*.so*"))
    missing -= defined([*files, *torch])
    return {name for name in missing if not name.startswith(("Py", "_Py", *_LIBC))}


def looked_up() -> set[str]:
    """Names that torch_npu looks up when a call needs them."""
    found: set[str] = set()
    for file in libraries():
        found |= {name.decode() for name in _LOOKED_UP.findall(file.read_bytes())}
    return {name for name in found if name[3:4].islower() or name[3:4].isupper()}


def needed_libraries() -> set[str]:
    """Libraries of CANN that torch_npu links to or opens by name."""
    files = libraries()
    names: set[str] = set()
    for file in files:
        listing = subprocess.run(
            ["readelf", "-d", str(file)], capture_output=True, text=True, check=True
        ).stdout
        names |= set(re.findall(r"NEEDED.*\[(lib[^\]]+\.so)\]", listing))
    have = {file.name for file in [*files, *(package("torch") / "lib").iterdir()]}
    return {name for name in names if name not in have}
