"""Workspaces stay, grow and are never shared between threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

import xgr
from xgr.backends.cpu_ref.scratch import Scratch


def test_a_buffer_is_reused_until_it_must_grow() -> None:
    scratch = Scratch()
    first = scratch("x", (4, 5))
    assert scratch("x", (2, 3)).base is first.base
    assert not np.shares_memory(scratch("y", (4, 5)), first)
    assert scratch("x", (50,)).shape == (50,)
    assert not np.shares_memory(scratch("x", (50,)), first)


def test_float32_is_not_copied_and_other_types_are() -> None:
    scratch = Scratch()
    array = np.ones(3, np.float32)
    assert scratch.float32("x", array) is array
    converted = scratch.float32("x", array.astype(ml_dtypes.bfloat16))
    assert converted.dtype == np.float32
    assert converted.tolist() == [1, 1, 1]


def test_two_threads_may_launch_one_bound_op() -> None:
    rt = xgr.runtime("cpu")
    rng = np.random.default_rng(0)
    # bfloat16 goes through workspaces for every operand
    weight = rng.standard_normal((64, 32)).astype(ml_dtypes.bfloat16)
    inputs = [rng.standard_normal((40, 32)).astype(ml_dtypes.bfloat16) for _ in range(2)]
    outs = [np.empty((40, 64), ml_dtypes.bfloat16) for _ in range(2)]
    arguments: dict[str, Any] = {"x": inputs[0], "weight": weight, "out": outs[0]}
    bound = rt.bind("linear", rt.problem("linear", **arguments), "cpu_ref.fast")
    barrier = Barrier(2)

    def launch(index: int) -> NDArray[Any]:
        barrier.wait()
        for _ in range(200):
            bound(x=inputs[index], weight=weight, out=outs[index])
            expected = inputs[index].astype(np.float64) @ weight.astype(np.float64).T
            np.testing.assert_allclose(outs[index].astype(np.float64), expected, atol=0.2)
        return outs[index]

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(launch, range(2)))
