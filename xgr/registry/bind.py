"""Bound ops: what is left of an op when everything has been decided."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from xgr.ops.array import Array
from xgr.ops.dtype import DType, dtype, float32
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

    def bind(self, op: str, problem: Problem) -> Bound:
        """Another op of the same backend."""
        return self._owner.bind(op, problem)


def compose(choice: Choice, context: BoundContext) -> Launcher:
    """Staged attention from its stages, for backends that have no fused kernel."""
    if choice.problem.op != "staged_attention":
        raise NotImplementedError(f"{choice.problem.op} has no composition")
    return _StagedAttention(choice.problem, context)


class _StagedAttention:
    def __init__(self, problem: Problem, context: BoundContext) -> None:
        a, ancestors = problem.sizes, problem.flag("ancestors")
        rows = {"R": a["R"], "H": a["H"], "d": a["d"]}
        kind = problem.dtype
        shared = {**rows, "T": a["T"], "G": a["G"], "B": a["B"]}
        unshared = {**rows, "S": a["S"], "G": a["G"], "B": a["B"]}
        flags = {"ancestors": ancestors, "bias": False}
        self._shared = context.bind(
            "shared_attention", Problem.of("shared_attention", kind, **shared)
        )
        self._unshared = context.bind(
            "unshared_attention", Problem.of("unshared_attention", kind, flags, **unshared)
        )
        self._merge = context.bind("merge_attention", Problem.of("merge_attention", kind, **rows))
        shape = (a["R"], a["H"], a["d"])
        self._outs = [context.empty(shape, dtype(kind)) for _ in range(2)]
        self._lses = [context.empty(shape[:2], float32) for _ in range(2)]
        self.plan = self._shared.plan

    def __call__(
        self,
        *,
        q: Array,
        k: Array,
        v: Array,
        k_unshared: Array,
        v_unshared: Array,
        prompt_start: Array,
        prompt_len: Array,
        row_start: Array,
        live: Array,
        step: int,
        scale: float,
        out: Array,
        lse: Array,
        ancestors: Array | None = None,
    ) -> None:
        outs, lses = self._outs, self._lses
        self._shared(
            q=q, k=k, v=v, prompt_start=prompt_start, prompt_len=prompt_len,
            row_start=row_start, live=live, scale=scale, out=outs[0], lse=lses[0],
        )  # fmt: skip
        self._unshared(
            q=q, k=k_unshared, v=v_unshared, row_start=row_start, live=live, ancestors=ancestors,
            bias=None, step=step, scale=scale, out=outs[1], lse=lses[1],
        )  # fmt: skip
        self._merge(outs=outs, lses=lses, out=out, lse=lse)
