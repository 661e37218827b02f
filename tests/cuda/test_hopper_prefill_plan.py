"""The sm_90 kernel of prefill attention: its tiles, what it leaves to others, its sweep."""

from __future__ import annotations

import pytest

from tests.cuda.test_prefill_plan import H200, prefill
from xgr.backends.cuda.kernels import KERNELS
from xgr.backends.cuda.prefill_attention.hopper_tiles import TUNABLES, choose
from xgr.errors import InputError
from xgr.ops.spec import Problem

(KERNEL,) = (k for k in KERNELS if (k.op, k.name) == ("prefill_attention", "cuda.hopper"))
CORES = H200["cores"]


@pytest.mark.parametrize(
    ("problem", "block_m", "divide"),
    [
        (prefill(N=256), 64, 1),
        (prefill(N=1024), 64, 2),
        (prefill(N=1024, causal=False), 64, 0),
        (prefill(N=2048, B=2), 64, 0),
        (prefill(N=4096, B=4), 128, 0),
        (prefill(N=8192), 128, 0),
    ],
)
def test_keys_are_divided_for_few_tiles_and_tiles_are_wide_for_many(
    problem: Problem, block_m: int, divide: int
) -> None:
    cut = choose(problem, CORES, {})
    assert (cut.tiles.block_m, cut.divide) == (block_m, divide)


def test_only_tiles_of_different_lengths_are_folded() -> None:
    assert choose(prefill(), CORES, {"divide": 0}).fold
    assert not choose(prefill(), CORES, {}).fold
    assert not choose(prefill(causal=False), CORES, {"divide": 0}).fold
    assert not choose(prefill(), CORES, {"divide": 0, "fold": 0}).fold


@pytest.mark.parametrize(("divide", "places"), [(0, 34), (1, 32), (2, 16)])
def test_blocks_of_a_kv_head(divide: int, places: int) -> None:
    assert choose(prefill(), CORES, {"divide": divide}).places(prefill()) == places


def test_each_tile_that_may_be_empty_has_a_block() -> None:
    problem = prefill(N=40, B=7)
    assert choose(problem, CORES, {"divide": 2}).places(problem) == 8


@pytest.mark.parametrize("config", [{"block_m": 128, "divide": 1}, {"divide": 3}])
def test_one_or_two_narrow_tiles_are_divided(config: dict[str, int]) -> None:
    with pytest.raises(InputError, match="divide="):
        choose(prefill(), CORES, config)


@pytest.mark.parametrize("tokens", [64, 1024, 16384])
def test_a_sweep_begins_with_the_choice_and_repeats_nothing(tokens: int) -> None:
    problem = prefill(N=tokens)
    own, first, *_ = configs = KERNEL.configs(problem, CORES, "sm_90")
    assert own == {}
    assert choose(problem, CORES, first) == choose(problem, CORES, {})
    assert len({tuple(sorted(c.items())) for c in configs}) == len(configs)
    for config in configs[1:]:
        cut = choose(problem, CORES, config)
        shape = (cut.tiles.block_m, cut.tiles.block_n, cut.tiles.stages, int(cut.fold), cut.divide)
        assert dict(zip(TUNABLES, shape, strict=True)) == config


@pytest.mark.parametrize(
    ("problem", "why"),
    [(prefill(d=96), "head size"), (prefill(H=24), "group"), (prefill(H=128, G=1), "group")],
)
def test_what_it_leaves_to_others(problem: Problem, why: str) -> None:
    assert [reason.code for reason in KERNEL.unsupported(problem, "sm_90")] == [why]


def test_few_queries_over_many_keys_are_left_to_a_kernel_that_divides_keys() -> None:
    assert [reason.code for reason in KERNEL.auto(prefill(N=64))] == ["tiles"]
    assert not list(KERNEL.auto(prefill(N=64, T=64)))
    assert not list(KERNEL.auto(prefill(N=256)))
