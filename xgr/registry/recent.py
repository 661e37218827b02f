"""A cache of the entries used last."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(OrderedDict[K, V], Generic[K, V]):
    """At most `capacity` entries; the one unused for longest leaves first.

    A hit is two calls in C, `get` and `move_to_end`: a method around them would cost more.
    """

    def __init__(self, capacity: int) -> None:
        super().__init__()
        self.capacity = capacity

    def keep(self, key: K, value: V) -> V:
        """Add an entry as the last used one; returns its value."""
        self[key] = value
        self.move_to_end(key)
        if len(self) > self.capacity:
            self.popitem(last=False)
        return value
