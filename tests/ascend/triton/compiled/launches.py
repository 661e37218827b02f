"""What launchers launch: kernels are bound as a device would, and handed to a stand-in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.ascend.triton.compiled.linalg import Signature, signature


@dataclass(frozen=True)
class Launch:
    """A launch: what it is compiled for, the grid, and what is passed in order."""

    signature: Signature
    grid: tuple[int, int, int]
    passed: tuple[Any, ...]


@contextmanager
def handing_to(receive: Callable[[Launch], None]) -> Iterator[None]:
    """While entered, launches of JIT functions go to `receive` and not to a device."""
    from triton.runtime.jit import JITFunction

    def run(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> None:
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        of = signature(self, bound.arguments)
        passed = tuple(bound.arguments[name] for name, _ in of.types)
        sizes = (*grid, 1, 1)[:3]
        receive(Launch(of, sizes, passed))

    before = JITFunction.run
    JITFunction.run = run
    try:
        yield
    finally:
        JITFunction.run = before
