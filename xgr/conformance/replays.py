"""How long launches take on a device: one graph of them, between the backend's own events.

The graph holds the cost of the host out. Where its launches use several sets of arguments in turn,
which together exceed the caches, no launch finds what another has left there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xgr.backends.base import Stream
from xgr.runtime import Runtime

# bytes that sets of arguments touch together, and most sets
ROTATED, MOST_SETS = 128 << 20, 48


def on_device(rt: Runtime) -> bool:
    """Whether launches run by themselves, from binaries that are compiled for the device."""
    return rt.backend.arch not in {"", "interpreter"}


def set_count(touched: int) -> int:
    """Sets of arguments for launches that touch so many bytes each."""
    return min(MOST_SETS, -(-ROTATED // max(1, touched)))


class Replays:
    """Launches in one graph, warm: compiled, loaded and, on a device, recorded.

    Args:
        rt: the device.
        stream: the current stream, on which everything runs.
        calls: launch one after the other.

    Attributes:
        launches: of a replay.
    """

    def __init__(self, rt: Runtime, stream: Stream, calls: Sequence[Callable[[], None]]) -> None:
        self._rt, self._stream, self.launches = rt, stream, len(calls)

        def launches() -> None:
            for call in calls:
                call()

        self._graph = rt.capture(launches)
        self._graph.replay()  # compiles and loads
        if on_device(rt):
            self._graph.replay()  # records, where that takes a layout that was seen before
        stream.synchronize()

    def milliseconds(self, count: int) -> list[float]:
        """Of a launch, in each of so many replays."""
        marks = [(self._rt.event(), self._rt.event()) for _ in range(count)]
        for begin, end in marks:
            begin.record(self._stream)
            self._graph.replay()
            end.record(self._stream)
        self._stream.synchronize()
        return [end.elapsed_ms(begin) / self.launches for begin, end in marks]
