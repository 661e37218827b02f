"""Streams of torch, none of them handed out twice while it is held.

torch has some dozens for a device and hands them out in turn. A lane that launched on the stream
that another one records a graph on would have its launches recorded instead of run. Those that were
held before go out first: libraries keep a workspace for every stream that they have launched on.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

Thing = TypeVar("Thing")

# more than torch has for any device
_TRIES = 128


class Held:
    """A stream that is the holder's alone for as long as this object is.

    torch's own objects do not tell their weak references when they end.

    Attributes:
        torch: the stream.
    """

    __slots__ = ("__weakref__", "torch")

    def __init__(self, stream: Any) -> None:
        self.torch = stream


class Streams:
    """The streams of one kind of device.

    Args:
        make: the next of torch's streams.
        handle: what tells two of the device's streams apart.
    """

    def __init__(self, make: Callable[[], Any], handle: Callable[[Any], int]) -> None:
        self._make, self.handle = make, handle
        self._held: weakref.WeakValueDictionary[int, Held] = weakref.WeakValueDictionary()
        self._known: dict[int, Any] = {}
        self._turn = threading.Lock()

    def fresh(self) -> Held:
        """A stream that nobody else has.

        Raises:
            RuntimeError: every stream that torch has is held.
        """
        with self._turn:
            for stream in self._candidates():
                held, handle = Held(stream), self.handle(stream)
                if self._held.setdefault(handle, held) is held:
                    self._known[handle] = stream
                    return held
            raise RuntimeError(
                f"all {len(self._held)} streams that torch has for this device are held, two by a "
                "lane: start engines with fewer lanes, or drop those that are not used any more"
            )

    def _candidates(self) -> Iterator[Any]:
        """Those of the current device that were held once, then torch's."""
        made = self._make()
        yield from [one for one in self._known.values() if one.device == made.device]
        yield made
        yield from (self._make() for _ in range(_TRIES))

    def holder(self, stream: Any) -> Callable[[], Any]:
        """Gives an object for as long as the stream is held, then None; others are never let go."""
        held = self._held.get(self.handle(stream))
        return (lambda: stream) if held is None else weakref.ref(held)


class PerStream(Generic[Thing]):
    """A thing for each stream, made when it is first asked for.

    Those of streams that are not held any more serve the next ones, as what they were used for
    may still be there, but launches no more.

    Args:
        streams: those that may be dropped.
        make: makes one.
    """

    def __init__(self, streams: Streams, make: Callable[[], Thing]) -> None:
        self._streams, self._make = streams, make
        self._of: dict[int, tuple[Callable[[], Any], Thing]] = {}
        self._free: list[Thing] = []

    def __call__(self, stream: Any) -> Thing:
        """That of a stream of torch's."""
        for at in [at for at, (holder, _) in self._of.items() if holder() is None]:
            self._free.append(self._of.pop(at)[1])
        at = self._streams.handle(stream)
        if at not in self._of:
            thing = self._free.pop() if self._free else self._make()
            self._of[at] = self._streams.holder(stream), thing
        return self._of[at][1]
