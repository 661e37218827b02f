"""What must not happen while a graph is recorded."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_TURN = threading.Lock()
_recorders = 0
_collected = True


@contextmanager
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
