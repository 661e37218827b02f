"""A cache of the entries used last."""

from __future__ import annotations

import itertools
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Used(Generic[V]):
    """A value, and when it was used last."""

    __slots__ = ("at", "value")

    def __init__(self, value: V, at: int) -> None:
        self.value = value
        self.at = at


class Recent(dict[K, Used[V]]):
    """At most `capacity` entries; the one unused for longest leaves first.

    Who finds an entry marks it: `entry.at = cache.tick()`. A key is hashed once on a hit, as its
    hash costs more than the rest; the search for the oldest is paid when an entry is added, which
    costs more still.
    """

    def __init__(self, capacity: int) -> None:
        super().__init__()
        self.capacity = capacity
        self.tick = itertools.count().__next__

    def keep(self, key: K, value: V) -> Used[V]:
        """Add an entry as the last used one."""
        if len(self) >= self.capacity:
            del self[min(self, key=lambda known: self[known].at)]
        entry = self[key] = Used(value, self.tick())
        return entry
