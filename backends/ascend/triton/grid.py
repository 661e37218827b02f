"""How many programs a launch has: one a core."""

from __future__ import annotations

import functools
import os

from xgr.backends.ascend import _compat, device, soc

# few under the interpreter, so that small cases are divided too; as on this chip where kernels are
# only compiled
_INTERPRETED = soc.CoreGroup(3, 3)
_COMPILED = "Ascend910B3"


def interpreting() -> bool:
    """Whether Triton interprets kernels on the CPU, which is decided when it is imported."""
    return os.environ.get("TRITON_INTERPRET") == "1"


def cube_cores() -> int:
    """Cube cores of the device: programs of a kernel that has products, each with two AIVs."""
    return _cores().cube


def vector_cores() -> int:
    """Vector cores of the device: programs of a kernel that has none."""
    return _cores().vector


@functools.cache
def _cores() -> soc.CoreGroup:
    if interpreting():
        return _INTERPRETED
    here = next(iter(_compat.missing()), None) is None
    found = device.current() if here else soc.spec(_COMPILED)
    return soc.CoreGroup(found.cube_cores, found.vector_cores)
