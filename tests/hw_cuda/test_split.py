"""The stages of attention side by side: streams are forked and joined, eagerly and in a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from xgr.backends.cuda.staged_attention.groups import space
from xgr.ops.dtype import bfloat16, float32, int32
from xgr.ops.spec import Problem
from xgr.registry.bind import BoundContext
from xgr.runtime import Runtime

SIZES = {"H": 16, "G": 8, "d": 128, "S": 3, "B": 1}


@pytest.mark.parametrize("division", range(6))
@pytest.mark.parametrize(("rows", "tokens"), [(128, 256), (128, 4096), (1024, 512)])
def test_a_call_waits_for_both_stages_of_the_one_before(
    rt: Runtime, rows: int, tokens: int, division: int
) -> None:
    problem = Problem.of("staged_attention", "bfloat16", R=rows, T=tokens, **SIZES)
    config = space(problem, rt.backend.cores, 90)[division]
    (kernel,) = (one for one in rt.kernels(problem.op) if one.name == "cuda.split")
    launch = kernel.build(problem, BoundContext(rt, config))
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> Any:
        return rt.upload(rng.standard_normal(shape, np.float32).astype(ml_dtypes.bfloat16))

    first, k, v = normal(rows, 16, 128), normal(tokens, 8, 128), normal(tokens, 8, 128)
    # results are the next call's queries; at this scale they follow one key each and never settle
    turns = [rt.empty((rows, 16, 128), bfloat16) for _ in range(2)]
    fixed: dict[str, Any] = {
        "k": k, "v": v, "k_unshared": normal(rows, 3, 8, 128),
        "v_unshared": normal(rows, 3, 8, 128), "lse": rt.empty((rows, 16), float32),
        "prompt_start": rt.upload([0], int32), "prompt_len": rt.upload([tokens], int32),
        "row_start": rt.upload([0, rows], int32), "live": rt.upload([rows], int32),
        "step": 3, "scale": 1.0,
    }  # fmt: skip

    def chain(between: Callable[[], None]) -> None:
        for one in range(20):
            q = turns[one % 2] if one else first
            launch(q=q, out=turns[(one + 1) % 2], **fixed)
            between()

    chain(rt.synchronize)
    expected = rt.fetch(turns[0])
    chain(lambda: None)
    assert np.array_equal(rt.fetch(turns[0]), expected)
    graph = rt.capture(lambda: chain(lambda: None))
    for _ in range(5):
        graph.replay()
        assert np.array_equal(rt.fetch(turns[0]), expected)
