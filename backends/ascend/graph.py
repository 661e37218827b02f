"""Captured graphs whose host arguments follow the batch.

Lengths are attributes of a library call on NPUs, and a capture freezes them. Such calls are
captured as task groups: `updatable` marks them, and a graph gives each group its new lengths before
it is replayed, on a stream of its own, while the device still works on what came before. What
cannot be given to a captured call, the shapes that a layout of rows asks for, is the layout of a
plan; where it has changed the launches run one by one, and are recorded once it comes again.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from xgr.backends.ascend import _compat
from xgr.backends.ascend.streams import STREAMS
from xgr.backends.recording import Spaces

LOG = logging.getLogger(__name__)


class Planned(Protocol):
    """What a launch depends on beside its arrays.

    Attributes:
        version: changes with each plan.
        layout: what a captured call cannot be given anew.
    """

    @property
    def version(self) -> int:
        """A number that no two plans share."""
        ...

    @property
    def layout(self) -> Hashable:
        """Equal where a captured call can be updated to serve."""
        ...


@dataclass(slots=True)
class Task:
    """A captured group of one library call.

    Attributes:
        handle: the group, None while launches are only watched.
        plan: the lengths that the call reads.
        launch: makes the call with the lengths of now.
        version: of the plan, as the group has it.
    """

    handle: Any
    plan: Planned
    launch: Callable[[], None]
    version: int


class Seen:
    """What a sequence of launches asked of the host.

    Attributes:
        tasks: calls that are to be updated.
        plans: their plans, in order, each once.
        refused: why the launches cannot be captured; empty where they can.
        capturing: they are being captured, and do not run.
    """

    def __init__(self, capturing: bool) -> None:
        self.capturing = capturing
        self.tasks: list[Task] = []
        self.plans: dict[int, Planned] = {}
        self.refused: list[str] = []

    def layouts(self) -> tuple[Hashable, ...]:
        """Of every plan, now."""
        return tuple(plan.layout for plan in self.plans.values())


_LOCAL = threading.local()


def seen() -> Seen | None:
    """What is kept of this thread's launches, None outside of a graph."""
    found: Seen | None = getattr(_LOCAL, "seen", None)
    return found


@contextlib.contextmanager
def _watching(capturing: bool) -> Iterator[Seen]:
    found = _LOCAL.seen = Seen(capturing)
    try:
        yield found
    finally:
        _LOCAL.seen = None


def updatable(plan: Planned, launch: Callable[[], None]) -> None:
    """Make a library call whose lengths are a plan's; `launch` allocates nothing."""
    found = seen()
    if found is None:
        launch()
        return
    found.plans.setdefault(id(plan), plan)
    if not found.capturing:
        launch()
        return
    npu = _compat.npu()
    stream = npu.current_stream()
    npu.graph_task_group_begin(stream)
    launch()
    handle = npu.graph_task_group_end(stream)
    found.tasks.append(Task(handle, plan, launch, plan.version))


def depends(plan: Planned) -> None:
    """Let a graph know a plan of which launches use the layout alone."""
    found = seen()
    if found is not None:
        found.plans.setdefault(id(plan), plan)


def refuse(why: str) -> None:
    """Say that a launch does what no graph can hold, as reading the device on the host."""
    found = seen()
    if found is not None:
        if found.capturing:
            raise RuntimeError(f"cannot be captured: {why}")
        found.refused.append(why)


class Graph:
    """Launches that are recorded once their layout is seen twice.

    Attributes:
        refused: why they are launched one by one for good; empty where they are not.
    """

    def __init__(self, launch: Callable[[], None], spaces: Spaces) -> None:
        self._launch, self._spaces = launch, spaces
        self._watched: Seen | None = None
        self._layouts: tuple[Hashable, ...] = ()
        self._graph: Any = None
        self._recorded: Seen | None = None
        self._done: Any = None
        self.refused: tuple[str, ...] = ()

    def replay(self) -> None:
        """Launch on the current stream; always the same stream for one graph."""
        if self._watched is None or self._watched.layouts() != self._layouts:
            self._eagerly()
            return
        if self._graph is None:
            if self.refused:
                self._launch()
                return
            with _watching(capturing=True) as self._recorded:
                self._graph = self._spaces.record(self._launch)
        self._update()
        self._graph.replay()
        self._done = _compat.npu().Event()
        self._done.record()

    def _eagerly(self) -> None:
        self._graph = self._recorded = None
        with _watching(capturing=False) as watched:
            self._launch()
        self._watched, self._layouts = watched, watched.layouts()
        refused = tuple(dict.fromkeys(watched.refused))
        if refused and refused != self.refused:
            LOG.warning("launched one by one, not as a graph: %s", "; ".join(refused))
        self.refused = refused

    def _update(self) -> None:
        """Give captured calls the lengths of now, behind the last replay and before the next."""
        assert self._recorded is not None
        stale = [task for task in self._recorded.tasks if task.version != task.plan.version]
        if not stale:
            return
        npu, stream = _compat.npu(), _updates()
        if self._done is not None:
            stream.wait_event(self._done)
        with npu.stream(stream):
            for task in stale:
                npu.graph_task_update_begin(stream, task.handle)
                task.launch()
                npu.graph_task_update_end(stream)
                task.version = task.plan.version
        npu.current_stream().wait_stream(stream)


def spaces() -> Spaces:
    """Where graphs of this kind of device are recorded."""
    return Spaces("npu", STREAMS, _compat.npu, lambda: _compat.npu().NPUGraph())


def _updates() -> Any:
    """The calling thread's stream for updates of captured calls."""
    if not hasattr(_LOCAL, "updates"):
        _LOCAL.updates = STREAMS.fresh()
    return _LOCAL.updates.torch
