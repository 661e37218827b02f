"""Lanes: engines of one device that serve batches side by side, each with memory of its own."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

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
        self._free: queue.SimpleQueue[Engine] = queue.SimpleQueue()
        for engine in self.engines:
            self._free.put(engine)
        self._pool = ThreadPoolExecutor(len(self.engines), thread_name_prefix="xgr-lane")
        self._alone = threading.Lock()

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
            served = list(self._pool.map(serve, batches))
        return [outcome for outcomes in served for outcome in outcomes]
