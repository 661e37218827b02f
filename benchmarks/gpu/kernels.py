"""Kernels of xgr ready to be timed: forced, or built with values of their tunables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any

from xgr import Problem, Runtime
from xgr.registry import Kernel
from xgr.registry.bind import BoundContext

Config = Mapping[str, int]


def able(rt: Runtime, problem: Problem) -> Sequence[Kernel]:
    """Kernels that can run a problem; a definition is none."""
    found = [k for k in rt.kernels(problem.op) if not k.unsupported(problem, rt.backend.arch)]
    return [kernel for kernel in found if not kernel.name.endswith("reference")]


def named(rt: Runtime, op: str, name: str) -> Kernel:
    """A kernel record by its name.

    Raises:
        ValueError: the op has none of that name.
    """
    known = {kernel.name: kernel for kernel in rt.kernels(op)}
    if name not in known:
        raise ValueError(f"{op} has no kernel {name!r}; known: {', '.join(known)}")
    return known[name]


def build(rt: Runtime, kernel: Kernel, problem: Problem, config: Config) -> Callable[..., None]:
    """The launcher of a kernel with values of its tunables."""
    return kernel.build(problem, BoundContext(rt, config))


def space(rt: Runtime, kernel: Kernel, problem: Problem) -> Sequence[Config]:
    """What its record says is worth measuring, its own choice aside."""
    return kernel.configs(problem, rt.backend.cores, rt.backend.arch)[1:]


def launches(call: Callable[[], Any]) -> bool:
    """Call; False where the configuration needs more shared memory than the device has."""
    from triton.runtime.errors import OutOfResources

    try:
        call()
    except OutOfResources:
        return False
    return True


def plan(launch: Callable[..., None], lengths: Sequence[int], widths: Sequence[int]) -> None:
    """Tell a launcher the batch where it wants to know: prompts side by side, and widths."""
    tell = getattr(launch, "plan", None)
    if tell is not None:
        tell([0, *accumulate(lengths)][:-1], list(lengths), list(widths))
