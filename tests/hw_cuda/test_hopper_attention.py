"""The sm_90 kernel of staged attention in every shape of its tiles, on batches of many tiles."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import pytest

from xgr.conformance import Outcome, run_case
from xgr.ops.spec import Case, Problem
from xgr.registry.kernel import Context, Kernel, Launcher
from xgr.runtime import Runtime

NAME = "cuda.hopper"
SIZES = {"R": 300, "H": 8, "G": 2, "d": 128, "T": 1500, "B": 3}
CASES = [
    Case("staged_attention", {**SIZES, "S": 3}, "bfloat16", {"step": 3, "ancestors": True}),
    Case("staged_attention", {**SIZES, "H": 2, "S": 2}, "float16", {"step": 2, "spare": 9}),
    Case("staged_attention", {**SIZES, "d": 64, "S": 2}, "bfloat16", {"step": 1}),
    Case("staged_attention", {**SIZES, "S": 3}, "bfloat16", {"step": 0, "live": "all"}),
    Case("staged_attention", {**SIZES, "S": 3}, "bfloat16", {"step": 3, "prompt": "empty"}),
    Case("staged_attention", {**SIZES, "S": 3}, "bfloat16", {"step": 3, "live": "none"}),
    Case("staged_attention", {**SIZES, "S": 3}, "bfloat16", {"step": 2, "nan": True}),
    Case("shared_attention", SIZES, "bfloat16", {"prompt": "full"}),
]
TILES = [
    {"block_m": block_m, "block_n": block_n, "stages": stages, "splits": splits, "chunk": 1}
    for block_m, (block_n, stages), splits in product(
        (64, 128), ((64, 2), (64, 3), (128, 2)), (1, 4)
    )
]


class _Fixed:
    """A kernel's context with other tuned values."""

    def __init__(self, context: Context, config: Mapping[str, int]) -> None:
        self.config = config
        self.empty, self.bind = context.empty, context.bind


@pytest.mark.parametrize("tiles", TILES, ids=["-".join(map(str, t.values())) for t in TILES])
@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_case(rt: Runtime, case: Case, tiles: Mapping[str, int]) -> None:
    known = {kernel.name: kernel for kernel in rt.kernels(case.op)}
    if rt.backend.arch not in known[NAME].archs:
        pytest.skip(f"{NAME} is for {known[NAME].archs}, not {rt.backend.arch}")

    def build(problem: Problem, context: Context) -> Launcher:
        fixed: Any = _Fixed(context, tiles)
        return known[NAME].build(problem, fixed)

    name = ".".join([NAME, *map(str, tiles.values())])
    if name not in known:
        rt.register(Kernel(case.op, name, build, priority=-1))
    result = run_case(rt, name, case)
    assert result.outcome is Outcome.OK, "\n".join(result.notes)
