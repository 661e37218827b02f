"""Streams of torch, none of them handed out twice while it is held.

torch has some dozens for a device and hands them out in turn. A lane that launched on the stream
that another one records a graph on would have its launches recorded instead of run.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any, Generic, TypeVar

Thing = TypeVar("Thing")

# more than torch has for any device
_TRIES = 128


class Streams:
    """The streams of one kind of device.

    Args:
        make: the next of torch's streams.
        handle: what tells two of the device's streams apart.
    """

    def __init__(self, make: Callable[[], Any], handle: Callable[[Any], int]) -> None:
        self._make, self.handle = make, handle
        self._held: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        self._turn = threading.Lock()

    def fresh(self) -> Any:
        """A stream that nobody else has; it is held for as long as the object is.

        Raises:
            RuntimeError: every stream that torch has is held.
        """
        with self._turn:
            for _ in range(_TRIES):
                stream = self._make()
                if self._held.setdefault(self.handle(stream), stream) is stream:
                    return stream
            raise RuntimeError(
                f"all {len(self._held)} streams that torch has for this device are held, two by a "
                "lane: start engines with fewer lanes, or drop those that are not used any more"
            )

    def holder(self, stream: Any) -> Callable[[], Any]:
        """Gives the stream for as long as it is held, then None; others are never let go."""
        held = self._held.get(self.handle(stream))
        return (lambda: stream) if held is None else weakref.ref(held)


class PerStream(Generic[Thing]):
    """A thing for each stream, made when it is first asked for.

    Args:
        streams: those that may be dropped, and their things with them.
        make: makes one.
    """

    def __init__(self, streams: Streams, make: Callable[[], Thing]) -> None:
        self._streams, self._make = streams, make
        self._of: dict[int, tuple[Callable[[], Any], Thing]] = {}

    def __call__(self, stream: Any) -> Thing:
        """That of a stream."""
        self._of = {at: one for at, one in self._of.items() if one[0]() is not None}
        at = self._streams.handle(stream)
        if at not in self._of:
            self._of[at] = self._streams.holder(stream), self._make()
        return self._of[at][1]
