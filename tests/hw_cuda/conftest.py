"""What needs an NVIDIA GPU: skipped, with the reason, where there is none."""

from __future__ import annotations

import pytest

from xgr.backends.cuda.backend import CudaBackend
from xgr.runtime import Runtime, runtime


@pytest.fixture(scope="session", autouse=True)
def rt() -> Runtime:
    """The device's runtime."""
    probe = CudaBackend.probe()
    if not probe.available:
        pytest.skip("; ".join(map(str, probe.reasons)))
    return runtime("cuda")
