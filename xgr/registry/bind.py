"""Bound ops: what is left of an op when everything has been decided."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from xgr.ops.array import Array
from xgr.ops.dtype import DType
from xgr.ops.spec import Problem
from xgr.registry.kernel import Launcher
from xgr.registry.select import Choice

Plan = Callable[[Sequence[int], Sequence[int], Sequence[int]], None]


def _no_plan(prompt_start: Sequence[int], prompt_len: Sequence[int], widths: Sequence[int]) -> None:
    return


class Bound(Protocol):
    """A kernel bound to a problem: calling it with the op's arguments by keyword only launches.

    Attributes:
        choice: how the kernel was chosen.
        plan: takes a batch's prompt_start and prompt_len (tokens) and widths (rows) as lists of
            host ints, once a batch, off the critical path; kernels that need none ignore it. The
            rows of a prefill are its packed queries.
    """

    choice: Choice
    plan: Plan

    def __call__(self, **arguments: Any) -> None:
        """Launch."""
        ...


def bound(choice: Choice, launch: Launcher) -> Bound:
    """Join a launcher with its choice.

    A partial with attributes and no class of our own: it is called in C, within 0.05 us of the
    bare launcher, where a Python `__call__` would add 0.6 us.
    """
    made: Any = functools.partial(launch)
    made.choice = choice
    made.plan = getattr(launch, "plan", _no_plan)
    joined: Bound = made
    return joined


class Owner(Protocol):
    """The part of the runtime that a bind needs."""

    def empty(self, shape: Sequence[int], dtype: DType) -> Array:
        """Uninitialised array."""
        ...

    def scratch(self, shape: Sequence[int], dtype: DType) -> Array:
        """Workspace that several bound ops have."""
        ...

    def bind(self, op: str, problem: Problem, kernel: str | None = None) -> Bound:
        """Another op."""
        ...


class BoundContext:
    """`registry.kernel.Context` over a runtime."""

    def __init__(self, owner: Owner, config: Mapping[str, int]) -> None:
        self._owner = owner
        self.config = config

    def empty(self, shape: tuple[int, ...], dtype: DType) -> Array:
        """Workspace that lives as long as the bound op."""
        return self._owner.empty(shape, dtype)

    def scratch(self, shape: tuple[int, ...], dtype: DType) -> Array:
        """Workspace that other bound ops have too: what a launch writes before it reads it."""
        return self._owner.scratch(shape, dtype)

    def bind(self, op: str, problem: Problem) -> Bound:
        """Another op of the same backend."""
        return self._owner.bind(op, problem)
