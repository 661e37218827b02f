"""The candidates of a set of problems: kernels with configurations, legal by rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from xgr.ops.spec import Problem
from xgr.registry.bind import BoundContext
from xgr.registry.kernel import Kernel, Launcher
from xgr.runtime import Runtime

# how a kernel without a configuration is shown
OWN_RULE = "by its own rule"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A kernel by name and values of its tunables; none is the kernel's own rule."""

    kernel: str
    config: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As tables have it."""
        return {"kernel": self.kernel, "config": dict(self.config)}

    def __str__(self) -> str:
        """Kernel and values, as `explain` and reports show them."""
        shown = " ".join(f"{name}={value}" for name, value in self.config.items())
        return f"{self.kernel} {shown or OWN_RULE}"

    @classmethod
    def parse(cls, text: str) -> Candidate:
        """What `str` writes."""
        kernel, _, shown = text.partition(" ")
        pairs = (word.partition("=") for word in shown.split() if "=" in word)
        return cls(kernel, {name: int(value) for name, _, value in pairs})


def candidates(rt: Runtime, problem: Problem) -> list[Candidate]:
    """What kernels list for a problem, those by their own rule among it."""
    return [
        Candidate(kernel.name, config)
        for kernel in able(rt, problem)
        for config in kernel.configs(problem, rt.backend.cores, rt.backend.arch)
    ]


def able(rt: Runtime, problem: Problem) -> list[Kernel]:
    """Kernels that may be chosen for a problem unasked; a definition never is worth measuring."""
    return [
        kernel
        for kernel in rt.kernels(problem.op)
        if not kernel.unsupported(problem, rt.backend.arch)
        and not tuple(kernel.auto(problem))
        and not kernel.name.endswith("reference")
    ]


def build(rt: Runtime, problem: Problem, candidate: Candidate) -> Launcher:
    """The launcher of a candidate."""
    (kernel,) = (one for one in rt.kernels(problem.op) if one.name == candidate.kernel)
    return kernel.build(problem, BoundContext(rt, candidate.config))


def own_choice(rt: Runtime, problem: Problem) -> Candidate:
    """What is chosen where there is no table."""
    return Candidate(max(able(rt, problem), key=lambda kernel: kernel.priority).name)
