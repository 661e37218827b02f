"""Streams of torch's device that nobody else launches on."""

from __future__ import annotations

import threading

import torch

from xgr.backends.streams import Held, Streams

STREAMS = Streams(torch.cuda.Stream, lambda stream: stream.cuda_stream)
_OF_THREAD = threading.local()


def beside() -> torch.cuda.Stream:
    """The calling thread's second stream on the current device; the same one every time.

    Raises:
        RuntimeError: every stream that torch has is held.
    """
    if not hasattr(_OF_THREAD, "streams"):
        _OF_THREAD.streams = {}
    streams: dict[int, Held] = _OF_THREAD.streams
    device = torch.cuda.current_device()
    if device not in streams:
        streams[device] = STREAMS.fresh()
    stream: torch.cuda.Stream = streams[device].torch
    return stream
