"""What Gluon calls differently in Triton 3.9 than before, under one name."""

from __future__ import annotations

from typing import Any

from triton.experimental.gluon import language
from triton.experimental.gluon.language.nvidia.hopper import async_copy, tma


def _named(module: Any, name: str, before: str) -> Any:
    return getattr(module, name if hasattr(module, name) else before)


# (descriptor, coordinates, barrier, tile) and (tile, pointers, mask): to shared memory
load_tile = _named(tma, "async_load", "async_copy_global_to_shared")
load_rows = _named(async_copy, "async_load", "async_copy_global_to_shared")
# all threads of the partition wait for each other
barrier = _named(language, "barrier", "thread_barrier")
