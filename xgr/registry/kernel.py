"""The record of a kernel: facts as data, reasons why not, and a body that is imported on bind."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from xgr.errors import Reason
from xgr.ops.array import Array
from xgr.ops.dtype import MODEL_DTYPES, DType
from xgr.ops.spec import Problem

Rule = Callable[[Problem], Iterable[Reason]]
Config = Mapping[str, int]
# Takes a problem, the device's cores and its architecture (90 for sm_90, 0 where it has no number);
# returns configurations, or a mapping to them from the names of the kernels that share the rule.
Space = Callable[[Problem, int, int], Sequence[Config] | Mapping[str, Sequence[Config]]]


# Takes a problem, values of the tunables and the device's cores; returns the microseconds that a
# launch takes by a model, for a device that nobody has measured.
Cost = Callable[[Problem, Config, int], float]


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
        space: "module:function" or the function that lists values of them worth measuring.
        cost: "module:function" or the function that models the time of a launch.
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
    space: str | Space | None = None
    cost: str | Cost | None = None

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

    def configs(self, problem: Problem, cores: int, arch: str = "") -> Sequence[Config]:
        """Configurations worth measuring, the kernel's own choice, {}, first.

        Of a space that kernels share, values that this one does not have are left out.
        """
        number = arch.rpartition("_")[2]
        listed: Sequence[Config] | Mapping[str, Sequence[Config]] = ()
        if self.space is not None:
            space: Space = _loaded(self.space)
            listed = space(problem, cores, int(number) if number.isdecimal() else 0)
        found: list[Config] = [{}]
        for config in listed.get(self.name, ()) if isinstance(listed, Mapping) else listed:
            mine = {name: value for name, value in config.items() if name in self.tunables}
            if mine not in found:
                found.append(mine)
        return found

    def modelled_us(self, problem: Problem, config: Config, cores: int) -> float | None:
        """Microseconds of a launch by the kernel's cost model, None where it has none."""
        if self.cost is None:
            return None
        cost: Cost = _loaded(self.cost)
        return cost(problem, config, cores)

    def build(self, problem: Problem, context: Context) -> Launcher:
        """Import the body and bind it to a problem."""
        factory: Factory = _loaded(self.factory)
        return factory(problem, context)


def _loaded(place: Any) -> Any:
    """A function by "module:function", or as it is."""
    if not isinstance(place, str):
        return place
    module, _, function = place.partition(":")
    return getattr(importlib.import_module(module), function)
