"""Recording graphs of launches through torch: where, and what must not happen meanwhile."""

from __future__ import annotations

import contextlib
import gc
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch

from xgr.backends.streams import Held, PerStream, Streams

_TURN = threading.Lock()
_recorders = 0
_collected = True


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """Python collects no cycles: the graphs of an engine that is gone may be among them.

    To destroy a graph in a thread that records one makes the recording invalid. Threads may be in
    here at once; the last to leave sets the collector as the first one found it.
    """
    global _recorders, _collected  # noqa: PLW0603 - the collector is the process's too
    with _TURN:
        if _recorders == 0:
            _collected = gc.isenabled()
            gc.disable()
        _recorders += 1
    try:
        yield
    finally:
        with _TURN:
            _recorders -= 1
            if _recorders == 0 and _collected:
                gc.enable()


class Spaces:
    """What graphs are recorded in: a stream and a memory pool for each stream they run on.

    Graphs of one stream never run at once and share memory, workspaces of libraries included.

    Args:
        device: torch's name of the kind of device.
        streams: of that kind.
        library: torch's module for it, as torch.cuda.
        graph: makes an empty graph.
    """

    def __init__(
        self,
        device: str,
        streams: Streams,
        library: Callable[[], Any],
        graph: Callable[[], Any],
    ) -> None:
        self._device, self._streams = device, streams
        self._library, self._graph = library, graph
        self._of = PerStream(streams, self._space)
        self._turn = threading.Lock()

    def record(self, launch: Callable[[], None]) -> Any:
        """The graph of what `launch` launches; nothing runs. One thread records at a time."""
        with self._turn:
            current = self._library().current_stream()
            side, pool, _ = self._of(current)
            graph = self._graph()
            self._recorded(graph, pool, side.torch, launch)
            current.wait_stream(side.torch)
            return graph

    def _space(self) -> tuple[Held, Any, Any]:
        """A stream, a pool, and a graph that holds the pool: it ends with the last graph in it."""
        side, holder = self._streams.fresh(), self._graph()
        pool = self._library().graph_pool_handle()
        self._recorded(holder, pool, side.torch, lambda: torch.zeros(1, device=self._device))
        return side, pool, holder

    def _recorded(self, graph: Any, pool: Any, side: Any, launch: Callable[[], Any]) -> None:
        library = self._library()
        side.wait_stream(library.current_stream())
        with no_collection(), library.stream(side):
            # other threads may allocate and wait meanwhile
            graph.capture_begin(pool=pool, capture_error_mode="thread_local")
            try:
                launch()
            except BaseException:
                with warnings.catch_warnings(), contextlib.suppress(RuntimeError):
                    warnings.simplefilter("ignore")  # the graph is empty or invalid: it is left
                    graph.capture_end()
                raise
            graph.capture_end()
