"""Nothing is collected while a graph is recorded."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

from xgr.backends.recording import no_collection


class Cycle:
    """Only the collector can free it."""

    def __init__(self) -> None:
        self.me = self


def allocate() -> list[list[int]]:
    """Enough for the collector to run some times."""
    return [[at] for at in range(10 * (gc.get_threshold()[0] + 1))]


def test_cycles_wait_until_the_recording_has_ended() -> None:
    gc.collect()
    gone = weakref.ref(Cycle())
    with no_collection():
        kept = allocate()
        assert gone() is not None
    kept += allocate()
    assert gone() is None


def test_the_last_to_leave_sets_the_collector_as_it_was() -> None:
    inside, leave = threading.Event(), threading.Event()

    def record() -> None:
        with no_collection():
            inside.set()
            leave.wait()

    other = threading.Thread(target=record)
    other.start()
    inside.wait()
    with no_collection():
        pass
    assert not gc.isenabled()
    leave.set()
    other.join()
    assert gc.isenabled()
    gc.disable()
    try:
        with pytest.raises(KeyError), no_collection():
            raise KeyError
        assert not gc.isenabled()
    finally:
        gc.enable()
