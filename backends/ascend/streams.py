"""Streams, events and copies of the device; core groups are limits of a stream."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch

from xgr.backends.ascend import _compat
from xgr.backends.ascend.soc import CoreGroup
from xgr.backends.streams import Held, Streams

# the stream of each thread and group of cores, which stays confined to it
_OF_GROUP: dict[tuple[int, CoreGroup], Held] = {}
_TURN = threading.Lock()
STREAMS = Streams(lambda: _compat.npu().Stream(), lambda stream: stream.npu_stream)


def confined(group: CoreGroup) -> Held:
    """The calling thread's stream on a group of cores; the same one whenever it is asked for."""
    key = threading.get_ident(), group
    with _TURN:
        if key not in _OF_GROUP:
            held = STREAMS.fresh()
            _compat.npu().set_stream_limit(held.torch, group.cube, group.vector)
            _OF_GROUP[key] = held
        return _OF_GROUP[key]


class Stream:
    """A stream of the device, on some of its cores or on all.

    Args:
        group: the most cores that a kernel on it may take; None for all.
    """

    def __init__(self, group: CoreGroup | None = None) -> None:
        self._held = STREAMS.fresh() if group is None else confined(group)
        self.torch = self._held.torch
        self.group = group
        self._entered: list[Any] = []

    def __enter__(self) -> Stream:
        """Make it current."""
        guard = _compat.npu().stream(self.torch)
        guard.__enter__()
        self._entered.append(guard)
        return self

    def __exit__(self, *exc: Any) -> None:
        """Restore the stream before."""
        self._entered.pop().__exit__(*exc)

    def synchronize(self) -> None:
        """Wait for its launches."""
        self.torch.synchronize()

    def wait(self, event: Any) -> None:
        """Later launches start after the event."""
        self.torch.wait_event(event.torch)


class Event:
    """A point in a stream, with a time."""

    def __init__(self) -> None:
        self.torch = _compat.npu().Event(enable_timing=True)

    def record(self, stream: Any) -> None:
        """Mark the stream's present end."""
        self.torch.record(stream.torch)

    def synchronize(self) -> None:
        """Wait until it is reached."""
        self.torch.synchronize()

    def elapsed_ms(self, since: Any) -> float:
        """Milliseconds of device time since another event."""
        elapsed: float = since.torch.elapsed_time(self.torch)
        return elapsed


class Download:
    """Copies to the host on the current stream, through pinned memory; a call waits for them."""

    def __init__(self, arrays: Sequence[torch.Tensor], convert: Callable[..., Any]) -> None:
        self._convert = convert
        self._hosts = [torch.empty(a.shape, dtype=a.dtype, pin_memory=True) for a in arrays]
        for host, array in zip(self._hosts, arrays, strict=True):
            host.copy_(array, non_blocking=True)
        self._done = _compat.npu().Event()
        self._done.record()

    def __call__(self) -> list[Any]:
        """The values, in memory of their own."""
        self._done.synchronize()
        return [self._convert(host) for host in self._hosts]
