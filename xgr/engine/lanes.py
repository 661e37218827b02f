"""Lanes: engines of one device that serve batches side by side, each with memory of its own.

Where the device runs by itself a lane is launched again before its last batch has been collected
(`Backend.in_flight`): the host prepares the next batch and builds the last one's results meanwhile.
"""

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
from xgr.errors import InputError

Progress = Callable[[int], None]


class Lanes:
    """Runs batches of requests on the lane that is free.

    Args:
        engines: one engine a lane, over the same weights.
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
        batches = self._batches(requests)

        def serve(batch: list[Prepared]) -> list[Outcome]:
            outcomes = self._serve(batch, catalogue)
            if progress is not None:
                progress(len(batch))
            return outcomes

        if len(batches) < 2 or self._places < 2:
            return [outcome for batch in batches for outcome in serve(batch)]
        with self._alone, self.engines[0].rt.backend.lanes(len(self.engines)):
            futures: list[Future[list[Outcome]]] = []
            try:
                futures.extend(self._pool.submit(serve, batch) for batch in batches)
                return [outcome for future in futures for outcome in future.result()]
            finally:
                # after an error or an interrupt nothing of this run may still use a lane
                for future in futures:
                    future.cancel()
                wait(futures)

    def submit(self, requests: Sequence[Prepared], catalogue: Catalogue) -> Future[list[Outcome]]:
        """Serve one batch on the lane that is free next; returns at once.

        Args:
            requests: of one batch, prepared by any of the engines.
            catalogue: what they were prepared for, pinned by the caller until the future is done.

        Returns:
            The outcomes in the order of the requests; a future that is cancelled before a lane
            takes it is not served.

        Raises:
            InputError: requests that do not fit one batch.
        """
        batches = self._batches(requests)
        if len(batches) != 1:
            raise InputError(
                f"{len(requests)} requests make {len(batches)} batches, need one: divide them by "
                "max_requests, max_tokens, max_rows and the filters' limits (run does)"
            )

        def serve() -> list[Outcome]:
            with self.engines[0].rt.backend.lanes(len(self.engines)):
                return self._serve(batches[0], catalogue)

        return self._pool.submit(serve)

    def _batches(self, requests: Sequence[Prepared]) -> list[list[Prepared]]:
        first = self.engines[0]
        runs = pack(requests, first.depth, first.config, first.rt.backend)
        return [[requests[at] for at in run] for run in runs]

    def _serve(self, batch: Sequence[Prepared], catalogue: Catalogue) -> list[Outcome]:
        engine, turn = place = self._free.get()
        try:
            with turn:
                launched = engine.launch(batch, catalogue)
            return engine.collect(launched)
        finally:
            self._free.put(place)

    def after_fork(self) -> None:
        """Begin anew in a forked child: threads, and whatever they held, stayed in the parent."""
        for engine in self.engines:
            engine.forget()
        self._start()

    def _start(self) -> None:
        # an engine stands in the queue once for each batch that it may have on its way; its turn
        # is held by the thread that launches
        self._free: queue.SimpleQueue[tuple[Engine, threading.Lock]] = queue.SimpleQueue()
        turns = [(engine, threading.Lock()) for engine in self.engines]
        self._places = len(turns) * self.engines[0].rt.backend.in_flight
        for at in range(self._places):
            self._free.put(turns[at % len(turns)])
        # kept for the life of the lanes: workspaces of kernels belong to threads
        self._pool = ThreadPoolExecutor(self._places, thread_name_prefix="xgr-lane")
        self._alone = threading.Lock()


_ALL: weakref.WeakSet[Lanes] = weakref.WeakSet()


def _after_fork() -> None:
    for lanes in list(_ALL):
        lanes.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
