"""The sm_90 kernel of prefill attention in every shape of its tiles, on ragged batches."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import product
from typing import Any

import pytest

from xgr.backends.cuda.prefill_attention.hopper_tiles import TUNABLES
from xgr.conformance import Outcome, run_case
from xgr.ops.spec import Case, Problem
from xgr.registry import Kernel
from xgr.registry.bind import BoundContext
from xgr.runtime import Runtime

NAME = "cuda.hopper"
SIZES = {"N": 900, "H": 4, "G": 2, "d": 128, "T": 1200, "B": 3}
case = partial(Case, "prefill_attention")
CASES = [
    case(SIZES, "bfloat16", {"causal": True}),
    case(SIZES, "float16", {"causal": False}),
    case({**SIZES, "B": 7}, "bfloat16", {"causal": True, "cached": True}),
    case({**SIZES, "B": 7}, "bfloat16", {"causal": False, "cached": True}),
    case({**SIZES, "d": 64, "H": 2}, "float16", {"causal": True}),
    case({**SIZES, "H": 16, "G": 1, "N": 450}, "bfloat16", {"causal": True, "cached": True}),
    case({**SIZES, "N": 1200}, "bfloat16", {"causal": True, "gain": 50}),
    case({**SIZES, "N": 40}, "bfloat16", {"causal": True, "prompt": "empty"}),
]
# lengths on both sides of every tile
LENGTHS = [1, 63, 64, 65, 127, 128, 129, 193]
CASES += [
    case({**SIZES, "N": n, "T": n, "B": 1}, "bfloat16", {"causal": True, "prompt": "full"})
    for n in LENGTHS
]
TILES = [
    dict(zip(TUNABLES, (block_m, block_n, stages, fold, 0), strict=True))
    for block_m, (block_n, stages), fold in product((64, 128), ((64, 2), (64, 3), (128, 2)), (0, 1))
]
TILES += [dict(zip(TUNABLES, (64, 64, 2, 0, divide), strict=True)) for divide in (1, 2)]


@pytest.mark.parametrize("tiles", TILES, ids=["-".join(map(str, t.values())) for t in TILES])
@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_case(rt: Runtime, case: Case, tiles: Mapping[str, int]) -> None:
    known = {kernel.name: kernel for kernel in rt.kernels(case.op)}
    if rt.backend.arch not in known[NAME].archs:
        pytest.skip(f"{NAME} is for {known[NAME].archs}, not {rt.backend.arch}")

    def build(problem: Problem, context: Any) -> Any:
        return known[NAME].build(problem, BoundContext(rt, tiles))

    name = ".".join([NAME, *map(str, tiles.values())])
    if name not in known:
        rt.register(Kernel(case.op, name, build, priority=-1))
    result = run_case(rt, name, case)
    assert result.outcome is Outcome.OK, "\n".join(result.notes)
