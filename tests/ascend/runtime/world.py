"""The Ascend backend on the fake device, with its own kernels emulated."""

from __future__ import annotations

import functools
import os

from tests.ascend.glue.library import built
from tests.ascend.runtime.fake import NPU

__all__ = ["NPU", "beam_kernels"]


@functools.cache
def beam_kernels() -> None:
    """Let the backend find its own kernels: built once, emulated on the host."""
    os.environ["XGR_ASCEND_OPS"] = str(built())
