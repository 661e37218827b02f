"""kv_reorder where a request has more rows than a program holds."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from tests.cuda.interpreter import QUIET, interpreted, need_interpreter
from xgr.ops.dtype import DType, float32, int32
from xgr.ops.spec import Problem
from xgr.registry.kernel import Launcher

need_interpreter()
pytestmark = QUIET


@dataclass
class Tuned:
    """A bind's context with chosen values."""

    config: Mapping[str, int]

    def empty(self, shape: tuple[int, ...], dtype: DType) -> Any:
        return interpreted().empty(shape, dtype)

    def bind(self, op: str, problem: Problem) -> Launcher:
        raise NotImplementedError


@pytest.mark.parametrize("rows", [1, 2, 4, 8])
@pytest.mark.parametrize("seed", range(4))
def test_blocks_of_rows_in_place(rows: int, seed: int) -> None:
    from xgr.backends.cuda.kv_reorder.triton import build

    rt, draw = interpreted(), random.Random(seed)
    live, width = draw.choice([(13, 13), (9, 13), (13, 14)]), 14
    parents = sorted(draw.choices(range(width), k=live[0]))
    problem = Problem.of("kv_reorder", "float32", L=1, R=width, S=1, G=1, d=2, B=1)
    launch = build(problem, Tuned({"rows": rows, "columns": 2}))
    before = [[[[[10.0 * r, 10.0 * r + 1]]] for r in range(width)]]
    k, v = rt.upload(before, float32), rt.upload(before, float32)
    status = rt.upload([0])
    launch(
        k=k, v=v, parent=rt.upload(parents + [99] * (width - live[0]), int32),
        row_start=rt.upload([0, width]), live=rt.upload([live[0]]), status=status, step=1,
    )  # fmt: skip
    want = [10.0 * p for p in parents] + [10.0 * r for r in range(live[0], width)]
    for cache in (k, v):
        got = rt.fetch(cache)[0, :, 0, 0]
        assert got[:, 0].tolist() == want
        assert got[:, 1].tolist() == [one + 1 for one in want]
    assert rt.fetch(status).tolist() == [0]
