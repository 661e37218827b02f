"""What every benchmark writes: its results with the machine, versions, variables, commit, command.

Records are committed, so they name no home folder and no host: paths are written relative to the
repository, paths outside it by their last part.
"""

from __future__ import annotations

import errno
import json
import os
import platform
import resource
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from xgr import __version__
from xgr.env import VARIABLES
from xgr.errors import InputError

ROOT = Path(__file__).resolve().parents[2]


def write(
    path: Path | str,
    name: str,
    results: Any,
    *,
    settings: Mapping[str, Any] | None = None,
) -> Path:
    """Writes one record as indented JSON with sorted keys, whole or not at all.

    Args:
        path: the file; its folders are made when absent.
        name: which benchmark this is.
        results: numbers, strings, lists and string-keyed dicts of them; NumPy scalars too.
        settings: what the benchmark was asked to do.

    Returns:
        The path.

    Raises:
        InputError: a result is not finite or is of another type, or the file cannot be written.
    """
    record = {
        "name": name,
        "results": results,
        "settings": dict(settings or {}),
        "environment": environment(),
    }
    try:
        text = json.dumps(
            _public(record), indent=2, sort_keys=True, allow_nan=False, ensure_ascii=False
        )
    except (TypeError, ValueError) as error:
        raise InputError(
            f"the record of {name!r} cannot be JSON: {error}; "
            "give finite numbers, strings, lists and dicts"
        ) from error
    return write_text(path, text + "\n")


def write_text(path: Path | str, text: str) -> Path:
    """Writes a file whole or not at all; its folders are made when absent.

    Raises:
        InputError: the file cannot be written.
    """
    target = Path(path)
    try:
        temporary = _beside(target)
        try:
            temporary.write_text(text, encoding="utf-8")
            temporary.chmod(0o644)
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
    except (OSError, UnicodeEncodeError) as error:
        raise InputError(f"{target} cannot be written: {error}") from error
    return target


def check_writable(path: Path | str) -> None:
    """Find out before the work whether `write_text` will be able to write; makes the folders.

    Raises:
        InputError: the file cannot be written, with the reason.
    """
    target = Path(path)
    try:
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, "it is a folder")
        _beside(target).unlink()
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror or error}") from error


def _beside(target: Path) -> Path:
    """An empty file in the target's folder."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=target.name)
    os.close(handle)
    return Path(name)


def environment() -> dict[str, Any]:
    """The machine, the versions, the commit, the date (UTC) and the command of this process.

    `variables` are those of `xgr.env` that are not at their default: some choose the kernels.
    """
    return {
        "machine": {
            "cpu": _cpu_model(),
            "architecture": platform.machine(),
            "cores": _cores(),
            "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        },
        # the builds of a release name images, and perhaps a host
        "os": f"{platform.system()} {platform.release().partition('-')[0]}",
        "python": platform.python_version(),
        "packages": {
            "xgr": __version__,
            **{name: _version(name) for name in ("numpy", "torch", "transformers")},
        },
        "git": _git(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command(),
        "variables": _variables(),
    }


def command(argv: list[str] | None = None) -> str:
    """The command line of this process (or `argv`) as one would type it in the repository."""
    given = list(sys.argv if argv is None else argv)
    program = given[0] if given else ""
    spec = getattr(sys.modules["__main__"], "__spec__", None) if argv is None else None
    if spec is not None:
        words = ["python", "-m", spec.name.removesuffix(".__main__")]
    elif program.endswith(".py"):
        words = ["python", _relative(program)]
    else:
        words = [Path(program).name]
    for word in given[1:]:
        option, equals, value = word.partition("=")
        joined = option.startswith("-") and equals
        words.append(f"{option}={_relative(value)}" if joined else _relative(word))
    return shlex.join(words)


def peak_rss_bytes() -> int:
    """The most resident memory this process has had, in bytes."""
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    # Not ru_maxrss on Linux: it survives exec, so that a child starts at its parent's size.
    kib = next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(kib) * 1024


def _variables() -> dict[str, str]:
    """Value by name. Paths are made relative here: tuned tables hold them without `write`."""
    given = {v.name: (os.environ.get(v.name, v.default), v.default) for v in VARIABLES}
    return {name: _public(value) for name, (value, default) in given.items() if value != default}


def _public(value: Any) -> Any:
    """The value with every absolute path made relative and NumPy scalars made plain."""
    if isinstance(value, str | Path):
        home = str(Path.home())
        return _relative(str(value)).replace(home, "~" if len(home) > 1 else home)
    if isinstance(value, Mapping):
        return {str(key): _public(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_public(item) for item in value]
    return value.item() if hasattr(value, "item") else value


def _relative(word: str) -> str:
    """An absolute path relative to the repository, or its last part when it lies elsewhere."""
    if not word.startswith(("/", "~")) or len(word) == 1:
        return word
    path = Path(os.path.normpath(Path(word).expanduser()))
    if path.is_relative_to(ROOT) or path.is_relative_to(ROOT.parent / "shared"):
        return Path(os.path.relpath(path, ROOT)).as_posix()
    return path.name


def _cpu_model() -> str:
    if sys.platform == "darwin":
        return _output("sysctl", "-n", "machdep.cpu.brand_string") or platform.processor()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor()


def _cores() -> int:
    """Cores this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _version(package: str) -> str | None:
    """Version of an installed package without importing it, None when it is absent."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _git() -> dict[str, Any] | None:
    """Commit and whether tracked files differ from it; None outside the project's repository.

    Results of benchmarks do not count as a difference: a run would mark the next one.
    """
    top = _output("git", "rev-parse", "--show-toplevel")
    if top is None or Path(top).resolve() != ROOT:
        return None  # installed, perhaps into a folder of somebody else's repository
    changed = _output(
        "git", "status", "--porcelain", "-uno", "--", ".", ":(exclude)benchmarks/results"
    )
    return {"commit": _output("git", "rev-parse", "HEAD"), "dirty": bool(changed)}


def _output(*words: str) -> str | None:
    """What a command prints when run in the repository, None when it fails or is absent."""
    try:
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()
