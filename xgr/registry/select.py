"""Candidates -> choice. Order: kernel= argument > XGR_KERNEL > tuned table > priority.

Never another device; a forced kernel that cannot run is an error, never skipped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from xgr.errors import Reason, Unsupported
from xgr.ops.spec import OpSpec, Problem
from xgr.registry.kernel import Kernel
from xgr.registry.table import Entry
from xgr.registry.tables import Tables

# forces the composition of an op that has one, in place of a kernel's name
COMPOSED = "composed"
# sources of a choice that is forced
ARGUMENT, ENVIRONMENT = "kernel= argument", "XGR_KERNEL"

Verdict = Literal["chosen", "beaten", "unsupported", "not by default"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A kernel's standing in a choice."""

    kernel: Kernel
    verdict: Verdict
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """The outcome: a kernel, or the parts that serve together.

    Attributes:
        problem: what was asked.
        kernel: the chosen kernel; None when `parts` serve.
        source: what decided.
        config: tuned values for the kernel's tunables.
        candidates: every kernel of the op, in order of preference.
        parts: ops that the registry composes.
        entry: the tuned table's entry that was consulted, if any.
        passed_over: why that entry did not decide; empty where it did or there is none.
    """

    problem: Problem
    kernel: Kernel | None
    source: str
    candidates: tuple[Candidate, ...]
    config: Mapping[str, int] = field(default_factory=dict)
    parts: tuple[str, ...] = ()
    entry: Entry | None = None
    passed_over: str = ""

    @property
    def name(self) -> str:
        """Of the kernel, or "composed"."""
        return COMPOSED if self.kernel is None else self.kernel.name

    @property
    def forced(self) -> bool:
        """Whether the call or the environment named the kernel."""
        return self.source in (ARGUMENT, ENVIRONMENT)


def select(
    spec: OpSpec,
    problem: Problem,
    kernels: Sequence[Kernel],
    *,
    arch: str = "",
    cores: int = 1,
    argument: str | None = None,
    env: Mapping[str, str] | None = None,
    tables: Tables | None = None,
    deterministic: bool = False,
) -> Choice:
    """Choose the kernel of a problem.

    Raises:
        Unsupported: nothing can run it, or the forced kernel cannot; every reason is listed.
    """
    reasons = {k.name: _reasons(k, problem, arch, deterministic) for k in kernels}
    forced, source = _forced(problem.op, argument, env or {})
    if forced is not None:
        return _force(spec, problem, kernels, reasons, forced, source)
    able = [k for k in kernels if not reasons[k.name] and not tuple(k.auto(problem))]
    able.sort(key=lambda k: -k.priority)
    entry = tables.lookup(problem, kernels) if tables is not None else None
    passed = _objection(problem, kernels, reasons, entry, cores, arch) if entry is not None else ""
    if entry is not None and not passed:
        tuned = next(k for k in able if k.name == entry.kernel)
        return _choice(problem, kernels, reasons, tuned, entry.source, entry)
    if able:
        chosen = _choice(problem, kernels, reasons, able[0], "priority")
        return replace(chosen, entry=entry, passed_over=passed)
    if spec.composed_of:
        parts = _compose(spec, problem, kernels, reasons, "no kernel of its own by default")
        return replace(parts, entry=entry, passed_over=passed)
    raise _refused(f"no kernel can run {problem}", kernels, reasons, problem)


def _objection(
    problem: Problem,
    kernels: Sequence[Kernel],
    reasons: Mapping[str, tuple[Reason, ...]],
    entry: Entry,
    cores: int,
    arch: str,
) -> str:
    """Why a tuned entry cannot decide; empty when it can."""
    named = next((k for k in kernels if k.name == entry.kernel), None)
    if named is None:
        known = ", ".join(k.name for k in kernels) or "none"
        return f"{entry.source}: {entry.kernel!r} is no kernel of {problem.op}; known: {known}"
    against = reasons[named.name] or tuple(named.auto(problem))
    if against:
        return f"{entry.source}: {named.name} cannot serve: {'; '.join(map(str, against))}"
    foreign = ", ".join(sorted(set(entry.config) - set(named.tunables)))
    if foreign:
        tunables = ", ".join(named.tunables) or "none"
        return f"{entry.source}: sets {foreign}; the tunables of {named.name}: {tunables}"
    # a leaf holds problems that list it and others that do not
    if named.space is not None and entry.config not in named.configs(problem, cores, arch):
        return f"{entry.source}: {named.name} does not list {dict(entry.config)} for this problem"
    return ""


def _forced(op: str, argument: str | None, env: Mapping[str, str]) -> tuple[str | None, str]:
    if argument is not None:
        return argument, ARGUMENT
    return env.get(op), ENVIRONMENT


def _force(
    spec: OpSpec,
    problem: Problem,
    kernels: Sequence[Kernel],
    reasons: Mapping[str, tuple[Reason, ...]],
    name: str,
    source: str,
) -> Choice:
    if name == COMPOSED and spec.composed_of:
        return _compose(spec, problem, kernels, reasons, source)
    for kernel in kernels:
        if kernel.name == name:
            if reasons[name]:
                raise _refused(f"{source} {name} cannot run {problem}", [kernel], reasons, problem)
            return _choice(problem, kernels, reasons, kernel, source)
    known = [k.name for k in kernels] + ([COMPOSED] if spec.composed_of else [])
    listed = ", ".join(known) or "none"
    raise Unsupported(f"{source} {name!r} is no kernel of {problem.op}; known: {listed}")


def _compose(
    spec: OpSpec,
    problem: Problem,
    kernels: Sequence[Kernel],
    reasons: Mapping[str, tuple[Reason, ...]],
    source: str,
) -> Choice:
    candidates = _candidates(problem, kernels, reasons, None)
    return Choice(problem, None, source, candidates, parts=spec.composed_of)


def _choice(
    problem: Problem,
    kernels: Sequence[Kernel],
    reasons: Mapping[str, tuple[Reason, ...]],
    chosen: Kernel,
    source: str,
    entry: Entry | None = None,
) -> Choice:
    candidates = _candidates(problem, kernels, reasons, chosen)
    config = entry.config if entry is not None else {}
    return Choice(problem, chosen, source, candidates, config, entry=entry)


def _candidates(
    problem: Problem,
    kernels: Sequence[Kernel],
    reasons: Mapping[str, tuple[Reason, ...]],
    chosen: Kernel | None,
) -> tuple[Candidate, ...]:
    out = []
    for kernel in sorted(kernels, key=lambda k: (k is not chosen, -k.priority)):
        auto = tuple(kernel.auto(problem))
        if kernel is chosen:
            out.append(Candidate(kernel, "chosen", ()))
        elif reasons[kernel.name]:
            out.append(Candidate(kernel, "unsupported", reasons[kernel.name]))
        elif auto:
            out.append(Candidate(kernel, "not by default", auto))
        else:
            out.append(Candidate(kernel, "beaten", ()))
    return tuple(out)


def _reasons(
    kernel: Kernel, problem: Problem, arch: str, deterministic: bool
) -> tuple[Reason, ...]:
    reasons = kernel.unsupported(problem, arch)
    if deterministic and not kernel.deterministic:
        reasons += (Reason("deterministic", "XGR_DETERMINISTIC=1", "a kernel that promises it"),)
    return reasons


def _refused(
    message: str,
    kernels: Sequence[Kernel],
    reasons: Mapping[str, tuple[Reason, ...]],
    problem: Problem,
) -> Unsupported:
    listed = [(k.name, r) for k in kernels for r in reasons[k.name] or tuple(k.auto(problem))]
    return Unsupported(message if listed else f"{message}: the backend has none", listed)
