"""A case made ready on a kernel: bound between canary words, and launched as often as asked."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from xgr.conformance.canary import Guarded
from xgr.conformance.laid import Laid, with_outputs
from xgr.conformance.replays import Replays, on_device, set_count
from xgr.errors import ValueReadError
from xgr.ops.array import Array
from xgr.ops.dtype import DType, float32
from xgr.ops.spec import Case, OpSpec, Problem, Values
from xgr.registry.bind import Bound, BoundContext, bound
from xgr.registry.compose import compose
from xgr.runtime import Runtime


class Prepared:
    """A kernel bound for a case, and the case's arguments on its device.

    Attributes:
        problem: what it is bound for.
        has_values: arrays hold values; a backend of shapes only is held to those.
        deterministic: op and kernel promise equal bits for equal inputs.
    """

    def __init__(
        self, rt: Runtime, kernel: str | None, declared: OpSpec, case: Case, host: Values
    ) -> None:
        strided = bool(case.flags.get("strided", False))
        values = with_outputs(declared, host, case.sizes, case.dtype)
        problem = declared.problem(values, case.dtype)
        self.problem = problem
        self._runtime, self._owner = rt, _Owner(rt)
        self._bound = self._owner.bind(case.op, problem, kernel)
        self._touched = declared.bytes(problem)
        self._lay = partial(Laid, rt, declared, values, case.dtype, strided)
        self._laid = self._lay()
        chosen = self._bound.choice.kernel
        self.deterministic = declared.deterministic and (chosen is None or chosen.deterministic)
        self.has_values = has_values(rt)

    def launch(self) -> Values:
        """Outputs of a launch on fresh arguments; empty where arrays have no values."""
        self._laid.reset()
        self._bound(**self._laid.arguments)
        return self._laid.outputs() if self.has_values else {}

    def timings(self, budget: float) -> list[float]:
        """Seconds of launches, until `budget` seconds are spent; of the first one they are not.

        Where launches run by themselves it is the device's time, on arguments that are not in its
        caches. Elsewhere it is the clock's, of one launch after the other.
        """
        if not on_device(self._runtime):
            return self._called(budget)
        sets = [self._laid, *(self._lay() for _ in range(set_count(self._touched) - 1))]
        for laid in sets:
            laid.reset()
        self._runtime.synchronize()
        stream = self._runtime.stream()
        with stream:
            calls = [partial(self._bound, **laid.arguments) for laid in sets]
            replays = Replays(self._runtime, stream, calls)
            found: list[float] = []
            end = time.perf_counter() + budget
            while not found or time.perf_counter() < end:
                found += [ms / 1e3 for ms in replays.milliseconds(1)]
        return found

    def _called(self, budget: float) -> list[float]:
        found: list[float] = []
        self.launch()
        end = time.perf_counter() + budget
        while not found or time.perf_counter() < end:
            self._runtime.synchronize()
            start = time.perf_counter()
            self._bound(**self._laid.arguments)
            self._runtime.synchronize()
            found.append(time.perf_counter() - start)
        return found

    def damage(self) -> Iterator[str]:
        """What was written that must not be."""
        yield from self._laid.damage()
        for guarded in self._owner.workspaces:
            if not guarded.intact():
                yield "a workspace was written outside of its elements"

    def plan(self, host: Values) -> bool:
        """Plan the batch; False where there is no prompt to plan for."""
        if "prompt_start" not in host:
            return False
        widths = np.diff(host["row_start" if "row_start" in host else "q_start"]).tolist()
        self._bound.plan(host["prompt_start"].tolist(), host["prompt_len"].tolist(), widths)
        return True


class _Owner:
    """What a bind asks of a runtime, with workspaces between canaries."""

    def __init__(self, rt: Runtime) -> None:
        self._runtime = rt
        self.workspaces: list[Guarded] = []

    def empty(self, shape: Sequence[int], dtype: DType) -> Array:
        guarded = Guarded(self._runtime, shape, dtype)
        self.workspaces.append(guarded)
        return guarded.view

    scratch = empty

    def bind(self, op: str, problem: Problem, kernel: str | None = None) -> Bound:
        choice = self._runtime.choose(op, problem, kernel)
        context = BoundContext(self, choice.config)
        if choice.kernel is None:
            return bound(choice, compose(choice, context))
        return bound(choice, choice.kernel.build(choice.problem, context))


def has_values(rt: Runtime) -> bool:
    """Whether arrays hold values at all; a backend of shapes only is held to those."""
    try:
        rt.fetch(rt.empty((1,), float32))
    except ValueReadError:
        return False
    return True
