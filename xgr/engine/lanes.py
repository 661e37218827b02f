"""Lanes: engines of one device that serve batches side by side, each with memory of its own."""

from __future__ import annotations

import os
import queue
import threading
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait

from xgr.catalog import Catalogue
from xgr.engine.engine import Engine
from xgr.engine.layout import pack
from xgr.engine.request import Prepared
from xgr.engine.results import Outcome

Progress = Callable[[int], None]


class Lanes:
    """Runs batches of requests on the lane that is free.

    Args:
        engines: one engine a lane, over the same weights. The first serves alone whatever fits
            one batch.
    """

    def __init__(self, engines: Sequence[Engine]) -> None:
        self.engines = tuple(engines)
        self._start()
        _ALL.add(self)

    def run(
        self,
        requests: Sequence[Prepared],
        catalogue: Catalogue,
        progress: Progress | None = None,
    ) -> list[Outcome]:
        """Serve requests; outcomes in their order, a failed request's is its error.

        Args:
            requests: any number, prepared by any of the engines.
            catalogue: what they were prepared for, pinned by the caller.
            progress: told after each batch how many requests it held.
        """
        first = self.engines[0]
        runs = list(pack(requests, first.depth, first.config, first.rt.backend))
        batches = [[requests[at] for at in run] for run in runs]

        def serve(batch: list[Prepared]) -> list[Outcome]:
            engine = self._free.get()
            try:
                outcomes = engine.collect(engine.launch(batch, catalogue))
            finally:
                self._free.put(engine)
            if progress is not None:
                progress(len(batch))
            return outcomes

        if len(batches) < 2 or len(self.engines) < 2:
            return [outcome for batch in batches for outcome in serve(batch)]
        with self._alone, first.rt.backend.lanes(len(self.engines)):
            futures: list[Future[list[Outcome]]] = []
            try:
                futures.extend(self._pool.submit(serve, batch) for batch in batches)
                return [outcome for future in futures for outcome in future.result()]
            finally:
                # after an error or an interrupt nothing of this run may still use a lane
                for future in futures:
                    future.cancel()
                wait(futures)

    def after_fork(self) -> None:
        """Begin anew in a forked child: threads, and whatever they held, stayed in the parent."""
        for engine in self.engines:
            engine.forget()
        self._start()

    def _start(self) -> None:
        self._free: queue.SimpleQueue[Engine] = queue.SimpleQueue()
        for engine in self.engines:
            self._free.put(engine)
        # kept for the life of the lanes: workspaces of kernels belong to threads
        self._pool = ThreadPoolExecutor(len(self.engines), thread_name_prefix="xgr-lane")
        self._alone = threading.Lock()


_ALL: weakref.WeakSet[Lanes] = weakref.WeakSet()


def _after_fork() -> None:
    for lanes in list(_ALL):
        lanes.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
