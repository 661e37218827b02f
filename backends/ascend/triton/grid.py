"""How many programs a launch has: one a core."""

from __future__ import annotations

import os

# few, so that small cases are divided too
_INTERPRETED = 3
# Ascend910B3's, for kernels that are compiled without a device
_CUBE = 20


def interpreting() -> bool:
    """Whether Triton interprets kernels on the CPU, which is decided when it is imported."""
    return os.environ.get("TRITON_INTERPRET") == "1"


def cube_cores() -> int:
    """Cube cores of the current device; kernels with products have a program on each."""
    if interpreting():
        return _INTERPRETED
    return _CUBE


def vector_cores() -> int:
    """Vector cores of the current device."""
    return _INTERPRETED if interpreting() else 2 * cube_cores()


def power_of_two(count: int) -> int:
    """Least power of two that is not below a count of 1 or more."""
    return 1 << max(count - 1, 0).bit_length()
