"""The sm_90 kernel of linear_swiglu: its tiles, and what it leaves to the product and the gate."""

from __future__ import annotations

import pytest

from xgr.backends.cuda.kernels import KERNELS
from xgr.backends.cuda.linear_swiglu.tiles import CORES, EVERY, choose
from xgr.errors import InputError
from xgr.ops.spec import Problem

(KERNEL,) = (k for k in KERNELS if (k.op, k.name) == ("linear_swiglu", "cuda.hopper"))


def mlp(rows: int, kind: str = "bfloat16", *, h: int = 1024, size: int = 3072) -> Problem:
    """Of Qwen3 0.6B unless told."""
    return Problem.of("linear_swiglu", kind, N=rows, h=h, I=size)


@pytest.mark.parametrize(("rows", "columns"), [(1024, 192), (2048, 128), (4096, 128)])
def test_tiles_leave_few_cores_idle(rows: int, columns: int) -> None:
    assert choose(mlp(rows), CORES, {}).columns == columns
    assert not list(KERNEL.auto(mlp(rows)))


@pytest.mark.parametrize(
    "problem",
    [*map(mlp, (0, 1, 128, 512, 1536)), mlp(512, h=2048, size=6144), mlp(4, size=0)],
    ids=str,
)
def test_rounds_that_leave_many_idle_are_left_to_the_parts(problem: Problem) -> None:
    (reason,) = KERNEL.auto(problem)
    assert "the product and the gate are faster" in str(reason)


@pytest.mark.parametrize(
    ("problem", "arch"),
    [
        (mlp(1024), "sm_80"),
        (mlp(1024, "float32"), "sm_90"),
        (mlp(1024, h=1028), "sm_90"),
        (mlp(1024, size=3076), "sm_90"),
        (mlp(1024, h=56), "sm_90"),
        (mlp(1024, h=0), "sm_90"),
    ],
)
def test_what_it_does_not_take(problem: Problem, arch: str) -> None:
    assert KERNEL.unsupported(problem, arch)
    list(KERNEL.auto(problem))  # which is asked all the same


def test_a_config_names_columns() -> None:
    assert [c["columns"] for c in KERNEL.configs(mlp(1), CORES, "sm_90")[1:]] == [
        tiles.columns for tiles in EVERY
    ]
    for tiles in EVERY:
        assert choose(mlp(1), CORES, {"columns": tiles.columns}) is tiles
    with pytest.raises(InputError, match="columns=64, known: 128, 192"):
        choose(mlp(1), CORES, {"columns": 64})
