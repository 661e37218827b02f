"""Graphs of a program's own launches."""

from __future__ import annotations

import weakref
from collections.abc import Callable

from xgr.backends.base import Graph
from xgr.runtime import Runtime


def recorded(rt: Runtime, launch: Callable[[], None]) -> Graph:
    """The graph of a method, for its object to hold.

    The graph does not hold the object in turn: memory of programs that are evicted, or of an engine
    that is dropped, would wait for the collector of cycles.
    """
    method = weakref.WeakMethod(launch)

    def call() -> None:
        held = method()
        assert held is not None, "a graph outlives the program whose launches it is of"
        held()

    return rt.capture(call)
