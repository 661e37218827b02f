"""Chained launches of the plain ops on a device: results are those of one launch at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from xgr.ops.dtype import bfloat16
from xgr.runtime import Runtime

INNER, TURNS = 1024, 40


@pytest.mark.parametrize("rows", [1, 128, 4096])
def test_a_launch_waits_for_the_one_before_it(rt: Runtime, rows: int) -> None:
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> Any:
        return rt.upload(rng.standard_normal(shape, np.float32).astype(ml_dtypes.bfloat16))

    start, zeros = normal(rows, INNER), np.zeros((rows, INNER), ml_dtypes.bfloat16)
    total = rt.empty((rows, INNER), bfloat16)
    gain = rt.empty((1, INNER), bfloat16)  # a result of the launch before its norm
    table, ids = normal(TURNS, INNER), [rt.upload([turn]) for turn in range(TURNS)]
    half = [rt.empty((rows, INNER), bfloat16) for _ in range(2)]
    both = rt.empty((rows, 2 * INNER), bfloat16)
    embed = rt.bind("embed", rt.problem("embed", ids=ids[0], table=table, out=gain))
    norm = {"x": start, "weight": gain[0], "residual": total, "out": both[:, :INNER], "eps": 1e-6}
    rms_norm = rt.bind("rms_norm", rt.problem("rms_norm", **norm))
    gate = {"gate_up": both, "out": half[0]}
    swiglu = rt.bind("swiglu", rt.problem("swiglu", **gate))

    def chain(between: Callable[[], None]) -> None:
        """Each writes what the one before read or wrote, and reads what it wrote."""
        x = start
        for turn in range(TURNS):
            for place in (both[:, :INNER], both[:, INNER:]):
                embed(ids=ids[turn], table=table, out=gain)
                between()
                rms_norm(**norm | {"x": x, "out": place})
                between()
            x = half[turn % 2]
            swiglu(gate_up=both, out=x)
            between()

    def results() -> list[Any]:
        return [rt.fetch(one) for one in (total, *half)]

    rt.write(total, zeros)
    chain(rt.synchronize)
    expected = results()
    graph = rt.capture(lambda: chain(lambda: None))
    for _ in range(4):  # the first launches one by one
        rt.write(total, zeros)
        graph.replay()
        for got, want in zip(results(), expected, strict=True):
            assert np.array_equal(got, want)
