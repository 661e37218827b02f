"""Which backends there are: a literal list of the built-in ones, entry points for third parties."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xgr.errors import BackendMissing

GROUP = "xgr.backends"

# device name -> module:class; the module is imported when the device is asked for
BUILT_IN = {
    "cpu": "xgr.backends.cpu_ref.backend:CpuBackend",
    "cuda": "xgr.backends.cuda.backend:CudaBackend",
    "npu": "xgr.backends.ascend.backend:AscendBackend",
    "null": "xgr.backends.null.backend:NullBackend",
}


@dataclass(frozen=True, slots=True)
class Found:
    """A backend that can be named: its device, where it is and who ships it."""

    device: str
    path: str
    origin: str


def found() -> Mapping[str, Found]:
    """Every backend by device name; a third party never replaces a built-in one."""
    devices = {d: Found(d, path, "built in") for d, path in BUILT_IN.items()}
    for backend in _third_parties():
        devices.setdefault(backend.device, backend)
    return devices


def ignored() -> Sequence[Found]:
    """Backends of third parties whose device name was taken before them."""
    devices = found()
    return [backend for backend in _third_parties() if devices[backend.device] != backend]


def _third_parties() -> Sequence[Found]:
    from importlib.metadata import entry_points  # a third of the time of `import xgr`

    points = [
        Found(p.name, p.value, p.dist.name if p.dist is not None else "unknown package")
        for p in entry_points(group=GROUP)
    ]
    return sorted(points, key=lambda p: (p.device, p.origin))  # not the order of sys.path


def load(device: str) -> Any:
    """The backend class of a device.

    Raises:
        BackendMissing: nobody provides the device, or its module cannot be imported.
    """
    devices = found()
    if device not in devices:
        known = ", ".join(sorted(devices))
        raise BackendMissing(
            f"no backend for device {device!r}; known: {known}. Other packages add "
            f"backends through the entry point group {GROUP!r}"
        )
    module, _, name = devices[device].path.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except Exception as error:  # whatever a third party's module raises is its own fault
        raise BackendMissing(
            f"the backend of device {device!r} ({devices[device].origin}) cannot be loaded: "
            f"{type(error).__name__}: {error}; `xgr doctor` says what is missing"
        ) from error
