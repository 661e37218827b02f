"""What there is to run: every case of every op on every kernel of every backend."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from xgr.conformance.gaps import Gap, read_gaps
from xgr.conformance.runner import Outcome, Result, run_case
from xgr.errors import BackendMissing, InputError
from xgr.ops import specs
from xgr.ops.spec import Case
from xgr.registry import discover
from xgr.registry.kernel import Kernel
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


def table(
    op: str = "",
    device: str = "",
    kernel: str = "",
    pattern: str = "",
    cases: Callable[[str], Sequence[Case]] | None = None,
) -> Sequence[Entry]:
    """The entries that match; an empty filter matches all.

    Args:
        op: name of an op.
        device: name of a backend's device.
        kernel: name of a kernel, with or without its backend: "cpu_ref.fast" or "fast".
        pattern: regular expression, searched in the case's id.
        cases: the cases of an op; those that are not for timing when absent.

    Raises:
        InputError: the op, device or kernel does not exist, with those that do; or the pattern
            is no regular expression.
    """
    ops = named("op", op, list(specs()))
    devices = named("backend", device, list(discover.found()))
    try:
        matches = re.compile(pattern).search
    except re.error as error:
        raise InputError(f"pattern {pattern!r} is no regular expression: {error}") from error
    records = [(d, name, o) for d in devices for o in ops for name in kernel_names(d, o)]
    if kernel:
        wanted = [r for r in records if kernel in (r[1], r[1].rpartition(".")[2])]
        if not wanted:
            known = ", ".join(sorted({name for _, name, _ in records if name}))
            raise InputError(f"kernel {kernel!r} is not known; known: {known}")
        records = wanted
    return [
        Entry(one_device, name, case)
        for one_device, name, one in records
        for case in (cases or cases_of)(one)
        if matches(case.id)
    ]


def run(entries: Sequence[Entry]) -> Iterator[tuple[Entry, Result]]:
    """Run entries one after the other."""
    for entry in entries:
        yield entry, run_entry(entry)


def run_entry(entry: Entry) -> Result:
    """Run one entry; skipped where the device is not on this machine."""
    rt = runtime_of(entry.device)
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


def kernels_of(device: str, op: str) -> Sequence[Kernel | str]:
    """Kernel records of an op on a device, and "composed" where its parts are; [""] for none.

    Those of a built-in backend are known where its device is not.
    """
    kernels: list[Kernel | str] = list(_records(device, op))
    parts = specs()[op].composed_of
    if parts and all(_records(device, part) for part in parts):
        kernels.append("composed")
    return kernels or [""]


def kernel_names(device: str, op: str) -> Sequence[str]:
    """Their names."""
    return [k if isinstance(k, str) else k.name for k in kernels_of(device, op)]


def runtime_of(device: str) -> Runtime | str:
    """The runtime, or why there is none."""
    try:
        return runtime(device)
    except BackendMissing as missing:
        return str(missing)


def _records(device: str, op: str) -> Sequence[Kernel]:
    rt = runtime_of(device)
    if not isinstance(rt, str):
        # a kernel of another machine is no gap of this one
        return [k for k in rt.kernels(op) if not k.archs or rt.backend.arch in k.archs]
    if device not in discover.BUILT_IN:
        return ()
    return [k for k in discover.load(device).kernels() if k.op == op]


def named(what: str, name: str, known: Sequence[str]) -> Sequence[str]:
    """The named one, or all when the name is empty; an unknown name lists the known ones."""
    if name and name not in known:
        raise InputError(f"{what} {name!r} is not known; known: {', '.join(known)}")
    return [name] if name else known
