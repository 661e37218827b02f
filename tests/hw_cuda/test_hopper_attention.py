"""The sm_90 kernel of staged attention in every shape of its tiles, on batches of many tiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from xgr.conformance import Outcome, run_case
from xgr.ops.dtype import bfloat16, float32, int32
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
    kernel = needs(rt, case.op)

    def build(problem: Problem, context: Context) -> Launcher:
        fixed: Any = _Fixed(context, tiles)
        return kernel.build(problem, fixed)

    name = ".".join([NAME, *map(str, tiles.values())])
    if name not in {one.name for one in rt.kernels(case.op)}:
        rt.register(Kernel(case.op, name, build, priority=-1))
    result = run_case(rt, name, case)
    assert result.outcome is Outcome.OK, "\n".join(result.notes)


def needs(rt: Runtime, op: str) -> Kernel:
    """The kernel's record; skips where the device is not its."""
    known = {kernel.name: kernel for kernel in rt.kernels(op)}
    if rt.backend.arch not in known[NAME].archs:
        pytest.skip(f"{NAME} is for {known[NAME].archs}, not {rt.backend.arch}")
    return known[NAME]


@pytest.mark.parametrize(("rows", "tokens"), [(64, 256), (128, 2048), (1024, 1024)])
def test_a_launch_waits_for_the_one_before_it(rt: Runtime, rows: int, tokens: int) -> None:
    needs(rt, "shared_attention")
    sizes = {"R": rows, "H": 16, "G": 8, "d": 128, "T": tokens, "B": 1}
    bound = rt.bind("shared_attention", Problem.of("shared_attention", "bfloat16", **sizes), NAME)
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> Any:
        return rt.upload(rng.standard_normal(shape, np.float32).astype(ml_dtypes.bfloat16))

    first, k, v = normal(rows, 16, 128), normal(tokens, 8, 128), normal(tokens, 8, 128)
    # results are the next launch's queries; at this scale they follow one key each and never settle
    turns = [rt.empty((rows, 16, 128), bfloat16) for _ in range(2)]
    fixed: dict[str, Any] = {
        "k": k, "v": v, "lse": rt.empty((rows, 16), float32), "scale": 1.0,
        "prompt_start": rt.upload([0], int32), "prompt_len": rt.upload([tokens], int32),
        "row_start": rt.upload([0, rows], int32), "live": rt.upload([rows], int32),
    }  # fmt: skip

    def chain(between: Callable[[], None]) -> None:
        for one in range(20):
            q = turns[one % 2] if one else first
            bound(q=q, out=turns[(one + 1) % 2], **fixed)
            between()

    chain(rt.synchronize)
    expected = rt.fetch(turns[0])
    graph = rt.capture(lambda: chain(lambda: None))
    for _ in range(5):
        graph.replay()
        assert np.array_equal(rt.fetch(turns[0]), expected)
