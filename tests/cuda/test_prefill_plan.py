"""Prefill attention: what a sweep may try, the order of tiles, and the peer that torch carries."""

from __future__ import annotations

import pytest

from tests.cuda.interpreter import QUIET, WHY_NOT, interpreted
from tests.cuda.test_attention_plan import forced
from xgr.backends.cuda.kernels import KERNELS
from xgr.backends.cuda.prefill_attention import space
from xgr.backends.cuda.prefill_attention.tiles import choose
from xgr.conformance import Outcome, run_case
from xgr.ops.spec import Case, Problem

H200 = {"cores": 132, "arch": 90}


def prefill(dtype: str = "bfloat16", *, causal: bool = True, **sizes: int) -> Problem:
    axes = {"N": 1024, "T": 16384, "H": 16, "G": 8, "d": 128, "B": 1} | sizes
    return Problem.of("prefill_attention", dtype, {"causal": causal, "bias": False}, **axes)


def test_tiles_that_run_at_once_are_folded_where_they_differ() -> None:
    assert choose(prefill(), config={}, **H200)[1]
    assert not choose(prefill(N=16384, B=16), config={}, **H200)[1]
    assert not choose(prefill(causal=False), config={}, **H200)[1]
    assert not choose(prefill(), config={"fold": 0}, **H200)[1]


@pytest.mark.parametrize("tokens", [1, 256, 1024, 16384])
def test_a_sweep_begins_with_the_choice_and_repeats_nothing(tokens: int) -> None:
    problem = prefill(N=tokens)
    configs = space(problem, **H200)["cuda.triton"]
    assert len({tuple(sorted(c.items())) for c in configs}) == len(configs) > 1
    assert choose(problem, config=configs[0], **H200) == choose(problem, config={}, **H200)
    for config in configs:
        tiles, fold = choose(problem, config=config, **H200)
        taken = {name: getattr(tiles, name) for name in config if name != "fold"}
        assert {**taken, "fold": int(fold)} == config


def test_float32_has_one_configuration() -> None:
    assert len(space(prefill("float32"), **H200)["cuda.triton"]) == 1


def test_torch_s_own_attention_is_there_and_not_chosen_unasked() -> None:
    (kernel,) = (k for k in KERNELS if (k.op, k.name) == ("prefill_attention", "cuda.torch"))
    assert not kernel.unsupported(prefill(), "sm_90")
    assert [reason.code for reason in kernel.auto(prefill())] == ["memory"]
    assert [reason.code for reason in kernel.unsupported(prefill(d=100), "sm_90")] == ["limit"]


SIZES = {"H": 2, "G": 1, "d": 16}
FOLDED = [
    Case("prefill_attention", {**SIZES, "N": 90, "T": 90, "B": 1}, "float16", {"causal": True}),
    Case(
        "prefill_attention",
        {**SIZES, "N": 60, "T": 150, "B": 3},
        "float16",
        {"causal": True, "cached": True},
    ),
]


@pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)
@pytest.mark.parametrize("case", FOLDED, ids=[case.id for case in FOLDED])
@pytest.mark.parametrize("fold", [0, 1])
@pytest.mark.filterwarnings(*(mark.args[0] for mark in QUIET))
def test_every_tile_has_a_block_whatever_the_order(case: Case, fold: int) -> None:
    name = forced("prefill_attention", {"block_m": 16, "block_n": 16, "splits": 1, "fold": fold})
    result = run_case(interpreted(), name, case)
    assert result.outcome is Outcome.OK, "\n".join(result.notes)
