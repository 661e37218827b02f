"""Memory that nothing wrote decides nothing and warns of nothing, whatever it holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.engine.test_batches import make_requests, run
from tests.engine.world import World, beams
from xgr.backends.cpu_ref.backend import CpuBackend
from xgr.backends.cpu_ref.kernels import KERNELS
from xgr.ops.dtype import DType

FORCED = {
    kind: ",".join(f"{k.op}={k.name}" for k in KERNELS if k.name.endswith(kind))
    for kind in ("reference", "fast")
}
SIGNALLING = {2: 0x7FA0, 4: 0x7FA00000, 8: 0x7FF4000000000000}  # NaNs that warn when they are cast
UNSIGNED = {2: np.uint16, 4: np.uint32, 8: np.uint64}


EMPTY = CpuBackend.empty


def poisoned(self: CpuBackend, shape: Sequence[int], dtype: DType) -> Any:
    """np.empty at its worst: signalling NaNs, and integers that point nowhere."""
    array = EMPTY(self, shape, dtype)
    array.view(UNSIGNED[array.itemsize])[...] = SIGNALLING[array.itemsize]
    return array


@pytest.mark.parametrize("kernel", list(FORCED))
@pytest.mark.parametrize("kv_mode", ["ancestors", "reorder"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_unwritten_memory_is_not_read(
    world: World, monkeypatch: pytest.MonkeyPatch, kernel: str, kv_mode: str, dtype: str
) -> None:
    monkeypatch.setenv("XGR_KERNEL", FORCED[kernel])
    options: dict[str, Any] = {"kv_mode": kv_mode, "dtype": dtype, "max_requests": 3}
    requests = make_requests(world)[:6]
    want = run(world.recommender(**options), requests)
    monkeypatch.setattr(CpuBackend, "empty", poisoned)
    got = run(world.recommender(**options), requests)
    assert [beams(one) for one in got] == [beams(one) for one in want]
