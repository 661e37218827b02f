"""The sm_90 kernel of prefill attention: its tiles, what it leaves to others, its sweep."""

from __future__ import annotations

import pytest

from tests.cuda.test_prefill_plan import H200, prefill
from xgr.backends.cuda.kernels import KERNELS
from xgr.backends.cuda.prefill_attention.hopper_tiles import TUNABLES, choose
from xgr.ops.spec import Problem

(KERNEL,) = (k for k in KERNELS if (k.op, k.name) == ("prefill_attention", "cuda.hopper"))
CORES = H200["cores"]


@pytest.mark.parametrize(
    ("problem", "block_m", "fold"),
    [
        (prefill(N=256), 64, True),
        (prefill(N=1024), 64, True),
        (prefill(N=2048, B=2), 64, False),
        (prefill(N=4096, B=4), 128, False),
        (prefill(N=8192), 128, False),
    ],
)
def test_wide_tiles_where_every_sm_has_two(problem: Problem, block_m: int, fold: bool) -> None:
    tiles, folded = choose(problem, CORES, {})
    assert (tiles.block_m, folded) == (block_m, fold)


def test_only_tiles_of_different_lengths_are_folded() -> None:
    assert not choose(prefill(causal=False), CORES, {})[1]
    assert not choose(prefill(), CORES, {"fold": 0})[1]


@pytest.mark.parametrize("tokens", [64, 1024, 16384])
def test_a_sweep_begins_with_the_choice_and_repeats_nothing(tokens: int) -> None:
    problem = prefill(N=tokens)
    own, first, *_ = configs = KERNEL.configs(problem, CORES, "sm_90")
    assert own == {}
    assert choose(problem, CORES, first) == choose(problem, CORES, {})
    assert len({tuple(sorted(c.items())) for c in configs}) == len(configs)
    for config in configs[1:]:
        tiles, fold = choose(problem, CORES, config)
        assert {n: getattr(tiles, n) for n in TUNABLES[:-1]} | {"fold": int(fold)} == config


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
