"""What there is to run: every case of every op on every kernel of every backend."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from xgr.conformance.gaps import Gap, read_gaps
from xgr.conformance.runner import Outcome, Result, run_case
from xgr.errors import BackendMissing, InputError
from xgr.ops import specs
from xgr.ops.spec import Case
from xgr.registry import discover
from xgr.runtime import Runtime, runtime


@dataclass(frozen=True, slots=True)
class Entry:
    """A case on a kernel of a device; kernel "" where the backend has none for the op."""

    device: str
    kernel: str
    case: Case

    @property
    def id(self) -> str:
        """Readable name."""
        return f"{self.device}:{self.kernel or 'no kernel'}:{self.case.id}"


def table(op: str = "", device: str = "", kernel: str = "", pattern: str = "") -> Sequence[Entry]:
    """The entries that match; an empty filter matches all.

    Args:
        op: name of an op.
        device: name of a backend's device.
        kernel: name of a kernel, with or without its backend: "cpu_ref.fast" or "fast".
        pattern: regular expression, searched in the case's id.

    Raises:
        InputError: the op, device or kernel does not exist; the message lists those that do.
    """
    ops = _named("op", op, list(specs()))
    devices = _named("device", device, list(discover.found()))
    entries = [
        Entry(name, record, case)
        for name in devices
        for one in ops
        for record in kernel_names(name, one)
        for case in cases_of(one)
        if kernel in ("", record, record.rpartition(".")[2]) and re.search(pattern, case.id)
    ]
    if kernel and not entries and not pattern:
        known = sorted({k for d in devices for o in ops for k in kernel_names(d, o) if k})
        raise InputError(f"kernel {kernel!r} is not known; known: {', '.join(known)}")
    return entries


def run(entries: Sequence[Entry]) -> Iterator[tuple[Entry, Result]]:
    """Run entries one after the other."""
    for entry in entries:
        yield entry, run_entry(entry)


def run_entry(entry: Entry) -> Result:
    """Run one entry; skipped where the device is not on this machine."""
    rt = _runtime(entry.device)
    if isinstance(rt, str):
        return Result(entry.case, entry.kernel, Outcome.SKIPPED, [rt])
    return run_case(rt, entry.kernel or None, entry.case, gaps_of(entry.device))


@cache
def cases_of(op: str) -> Sequence[Case]:
    """The cases of an op that are not for timing."""
    return [case for case in specs()[op].cases() if not case.flags.get("perf")]


@cache
def gaps_of(device: str) -> Sequence[Gap]:
    """The listed gaps of a device's backend."""
    return read_gaps(discover.load(device))


@cache
def kernel_names(device: str, op: str) -> Sequence[str]:
    """The kernels of an op on a device, "composed" included; [""] where there is none."""
    rt = _runtime(device)
    if isinstance(rt, str):
        return [""]
    names = [kernel.name for kernel in rt.kernels(op)]
    parts = specs()[op].composed_of
    if parts and all(rt.kernels(part) for part in parts):
        names.append("composed")
    return names or [""]


@cache
def _runtime(device: str) -> Runtime | str:
    """The runtime, or why there is none."""
    try:
        return runtime(device)
    except BackendMissing as missing:
        return str(missing)


def _named(what: str, name: str, known: Sequence[str]) -> Sequence[str]:
    if name and name not in known:
        raise InputError(f"{what} {name!r} is not known; known: {', '.join(known)}")
    return [name] if name else known
