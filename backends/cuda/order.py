# torch's streams and events have no types:
# mypy: disable-error-code="no-untyped-call"
"""Streams, events and graphs of torch's device, and their stand-ins for the interpreter."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from xgr.backends.cuda.streams import STREAMS
from xgr.backends.recording import Spaces

# blocks of pinned memory of an `Upload`
_BLOCKS = 4


class Stream:
    """A stream of the device."""

    def __init__(self) -> None:
        self._held = STREAMS.fresh()
        self.torch: torch.cuda.Stream = self._held.torch
        self._entered: list[torch.cuda.Stream] = []

    def __enter__(self) -> Stream:
        """Make it current."""
        self._entered.append(torch.cuda.current_stream())
        torch.cuda.set_stream(self.torch)
        return self

    def __exit__(self, *exc: Any) -> None:
        """Restore the stream before."""
        torch.cuda.set_stream(self._entered.pop())

    def synchronize(self) -> None:
        """Wait for its launches."""
        self.torch.synchronize()

    def wait(self, event: Any) -> None:
        """Later launches start after the event."""
        self.torch.wait_event(event.torch)


class Event:
    """A point in a stream, with a time."""

    def __init__(self) -> None:
        self.torch = torch.cuda.Event(enable_timing=True)

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
    """Copies to the host on the current stream; a call waits for them, with the GIL released.

    torch's pinned memory is cached: after the first batches of a size none is asked for, and a
    block is not used again before its last copy is done.
    """

    def __init__(self, arrays: Sequence[torch.Tensor], convert: Callable[..., Any]) -> None:
        self._convert = convert
        self._hosts = [torch.empty(a.shape, dtype=a.dtype, pin_memory=True) for a in arrays]
        for host, array in zip(self._hosts, arrays, strict=True):
            host.copy_(array, non_blocking=True)
        self._done = torch.cuda.Event()
        self._done.record()

    def __call__(self) -> list[Any]:
        """The values, in memory of their own."""
        self._done.synchronize()
        return [self._convert(host) for host in self._hosts]


class Upload:
    """Copies host values to the first elements of an array, on the current stream.

    They go through blocks of pinned memory in turn. None is written again before its last copy is
    done, for which the host would wait: there are more than batches on their way.

    Args:
        target: one-dimensional, of a dtype that NumPy has.
        convert: host values of other dtypes -> a CPU tensor of the target's.
    """

    def __init__(self, target: torch.Tensor, convert: Callable[[Any], torch.Tensor]) -> None:
        self._target, self._convert = target, convert
        shape, kind = target.shape, target.dtype
        self._blocks = [torch.empty(shape, dtype=kind, pin_memory=True) for _ in range(_BLOCKS)]
        self._arrays = [block.numpy() for block in self._blocks]
        self._done = [torch.cuda.Event() for _ in range(_BLOCKS)]
        self._turn = 0
        # views by the number of elements: to make one takes longer than to use it
        self._views: dict[int, tuple[torch.Tensor, Sequence[torch.Tensor]]] = {}

    def __call__(self, host: Any) -> None:
        """The host waits for no copy but that of `_BLOCKS` calls ago."""
        values = np.asarray(host)
        turn = self._turn
        if values.dtype != self._arrays[turn].dtype:
            values = self._convert(values).numpy()
        count = len(values)
        if count not in self._views:
            self._views[count] = self._target[:count], [block[:count] for block in self._blocks]
        target, blocks = self._views[count]
        self._done[turn].synchronize()
        self._arrays[turn][:count] = values
        target.copy_(blocks[turn], non_blocking=True)
        self._done[turn].record()
        self._turn = (turn + 1) % _BLOCKS


class Graph:
    """Launches that are recorded when they are first needed.

    The first replay launches one by one: kernels are compiled and loaded on a batch that is valid,
    which the arrays need not hold before. The launches are recorded right after it.
    """

    def __init__(self, launch: Callable[[], None], spaces: Spaces) -> None:
        self._launch, self._spaces = launch, spaces
        self._graph: torch.cuda.CUDAGraph | None = None

    def replay(self) -> None:
        """Launch on the current stream; always the same stream for one graph."""
        if self._graph is not None:
            self._graph.replay()
            return
        self._launch()
        self._graph = self._spaces.record(self._launch)


def spaces() -> Spaces:
    """Where graphs of this kind of device are recorded."""
    return Spaces("cuda", STREAMS, lambda: torch.cuda, torch.cuda.CUDAGraph)


class CallGraph:
    """A graph under the interpreter: the calls themselves."""

    def __init__(self, launch: Callable[[], None]) -> None:
        self.replay = launch


class HostStream:
    """The calling thread: an interpreted launch is done when it returns."""

    def __enter__(self) -> HostStream:
        """Nothing to make current."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Nothing to restore."""

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def wait(self, event: Any) -> None:
        """Nothing to wait for."""


class HostEvent:
    """A wall-clock time."""

    def __init__(self) -> None:
        self._at = 0.0

    def record(self, stream: Any) -> None:
        """Mark the present time."""
        self._at = time.perf_counter()

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def elapsed_ms(self, since: Any) -> float:
        """Milliseconds since another event."""
        elapsed: float = self._at - since._at
        return elapsed * 1e3
