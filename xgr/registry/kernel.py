"""The record of a kernel: facts as data, reasons why not, and a body that is imported on bind."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from xgr.errors import Reason
from xgr.ops.array import Array
from xgr.ops.dtype import MODEL_DTYPES, DType
from xgr.ops.spec import Problem

Rule = Callable[[Problem], Iterable[Reason]]


# What a bind returns: launches with the op's arguments by keyword. It may have a method
# `plan(prompt_start, prompt_len, widths)` that takes lists of host ints once a batch.
Launcher = Callable[..., None]


class Context(Protocol):
    """What a kernel may ask for while it is bound."""

    config: Mapping[str, int]

    def empty(self, shape: tuple[int, ...], dtype: DType) -> Array:
        """Workspace that lives as long as the bound op."""
        ...

    def bind(self, op: str, problem: Problem) -> Launcher:
        """Another op of the same backend, for kernels that are made of others."""
        ...


Factory = Callable[[Problem, Context], Launcher]


def _no_rule(problem: Problem) -> Iterable[Reason]:
    return ()


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel of one op on one backend.

    Attributes:
        op: the op that it serves.
        name: "backend.technique".
        factory: "module:function" of (problem, context) -> launcher, imported on bind; or the
            function itself.
        priority: among kernels that can run and have no tuned entry, the highest is chosen.
        dtypes: model dtypes that it takes.
        archs: device architectures, empty for any.
        limits: axis -> (least, greatest) size.
        graph_safe: may be captured in a graph.
        deterministic: equal inputs give equal bits.
        rule: further reasons against a problem.
        auto: reasons against choosing it unasked (a definition that is slow above toy size);
            a forced kernel is not held to them.
        tunables: names of the values that a tuned table may set.
    """

    op: str
    name: str
    factory: str | Factory
    priority: int = 0
    dtypes: tuple[str, ...] = MODEL_DTYPES
    archs: tuple[str, ...] = ()
    limits: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    graph_safe: bool = True
    deterministic: bool = True
    rule: Rule = _no_rule
    auto: Rule = _no_rule
    tunables: tuple[str, ...] = ()

    def unsupported(self, problem: Problem, arch: str = "") -> tuple[Reason, ...]:
        """Every reason why it cannot run the problem; empty when it can."""
        reasons = []
        if problem.dtype not in self.dtypes:
            reasons.append(Reason("dtype", problem.dtype, " or ".join(self.dtypes)))
        if self.archs and arch not in self.archs:
            reasons.append(Reason("arch", arch or "unknown", " or ".join(self.archs)))
        sizes = problem.sizes
        for axis, (low, high) in self.limits.items():
            if axis in sizes and not low <= sizes[axis] <= high:
                reasons.append(Reason("limit", f"{axis}={sizes[axis]}", f"{low}..{high}"))
        return (*reasons, *self.rule(problem))

    def build(self, problem: Problem, context: Context) -> Launcher:
        """Import the body and bind it to a problem."""
        factory = self.factory
        if isinstance(factory, str):
            module, _, function = factory.partition(":")
            loaded: Factory = getattr(importlib.import_module(module), function)
            return loaded(problem, context)
        return factory(problem, context)
