"""Facts of the device that kernels are built for."""

from __future__ import annotations

import functools

import torch
import triton

# multiprocessors that kernels divide their work for where there is no device: few under the
# interpreter, so that small cases are divided too; as on an H100 where kernels are only compiled
_INTERPRETED, _COMPILED = 4, 132


def interpreting() -> bool:
    """Whether Triton interprets kernels on the CPU, which is decided when it is imported."""
    return bool(triton.knobs.runtime.interpret)


@functools.cache
def multiprocessors() -> int:
    """Streaming multiprocessors of the device."""
    if interpreting():
        return _INTERPRETED
    if not torch.cuda.is_available():
        return _COMPILED
    count: int = torch.cuda.get_device_properties().multi_processor_count
    return count


def chains() -> bool:
    """Whether a launch can let the next one begin before it has ended."""
    return not interpreting() and architecture() >= 90


def architecture() -> int:
    """The device's, 90 for sm_90, which also stands in under the interpreter."""
    if interpreting():
        return 90
    return int(triton.runtime.driver.active.get_current_target().arch)
