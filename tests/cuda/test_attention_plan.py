"""How attention is cut into tiles, units and parts, and that the cuts do not show."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cuda.interpreter import QUIET, WHY_NOT, interpreted
from xgr.backends.cpu_ref.buckets import relative_buckets
from xgr.backends.cuda.kernels import KERNELS
from xgr.backends.cuda.prefill_attention.buckets import bucket_table
from xgr.backends.cuda.staged_attention import groups
from xgr.backends.cuda.staged_attention.heuristic import (
    HOPPER,
    SHORTEST_PART,
    TUNABLES,
    Tiles,
    choose,
    choose_hopper,
    own_block,
    power_of_two,
    space,
    tile_count,
)
from xgr.conformance import Outcome, run_case
from xgr.errors import InputError
from xgr.ops import spec
from xgr.ops.spec import Case, Problem
from xgr.registry.kernel import Context, Kernel, Launcher

H200 = {"cores": 132, "arch": 90}


def staged(dtype: str = "bfloat16", /, **sizes: int) -> Problem:
    axes = {"R": 128, "H": 16, "G": 8, "d": 128, "T": 1024, "S": 2, "B": 1} | sizes
    return Problem.of("staged_attention", dtype, {"ancestors": True}, **axes)


def tiles(problem: Problem, **config: int) -> Tiles:
    return choose(problem, config=config, **H200)


@given(st.lists(st.integers(0, 70), min_size=1, max_size=9), st.integers(0, 40), st.integers(1, 32))
def test_tiles_hold_rows_of_any_widths(widths: list[int], spare: int, rows_a_tile: int) -> None:
    starts = [0, *itertools.accumulate(widths)]
    total = starts[-1] + spare
    ends = [*starts[1:], total]
    first = [start // rows_a_tile + b for b, start in enumerate(starts)]
    problem = staged(R=total, B=len(widths), H=1, G=1)
    count = tile_count(problem, Tiles(rows_a_tile, 64, warps=4, stages=3))
    covered: list[int] = []
    for tile in range(count):
        request = sum(f <= tile for f in first) - 1
        begin = starts[request] + (tile - first[request]) * rows_a_tile
        covered += range(begin, min(begin + rows_a_tile, ends[request]))
    assert covered == list(range(total))


def test_few_blocks_are_split_until_the_machine_is_full() -> None:
    assert [tiles(staged(R=rows)).splits for rows in (128, 256, 512, 4096)] == [8, 4, 2, 1]
    assert tiles(staged(R=4, T=8192)).splits == 16


def test_no_more_parts_than_there_are_keys_for() -> None:
    assert tiles(staged(T=256)).splits == 2
    assert tiles(staged(T=1)).splits == 1
    assert tiles(Problem.of("unshared_attention", R=4, S=2, H=2, G=1, d=64, B=1)).splits == 1


def test_head_sizes_and_dtypes_have_tiles_of_their_own() -> None:
    assert tiles(staged()) == Tiles(64, 64, warps=4, stages=3, splits=8)
    assert tiles(staged(d=256)).block_n < 64
    assert tiles(staged("float32")).block_m < 64
    assert tiles(staged(R=4)).block_m == 16
    assert tiles(staged(R=4, H=64, G=1, d=64)).block_m == 64  # a row's heads stay together


@pytest.mark.parametrize("name", TUNABLES)
def test_a_tuned_value_overrules(name: str) -> None:
    got = tiles(staged(), **{name: 2})
    assert getattr(got, name) == 2
    # all else as chosen, but for the splits that fill the machine with smaller tiles
    assert replace(got, splits=8) == replace(tiles(staged()), **({name: 2} | {"splits": 8}))


@pytest.mark.parametrize(
    ("sizes", "tile", "splits"),
    [
        ({"R": 128, "T": 256}, (64, 128), 1),
        ({"R": 128, "T": 1024}, (64, 128), 4),
        ({"R": 128, "T": 8192}, (64, 128), 4),  # not 128 query vectors in 8 parts
        ({"R": 512, "T": 1024}, (64, 128), 1),
        ({"R": 512, "T": 8192}, (128, 128), 2),
        ({"R": 8192, "B": 16, "T": 16 * 256}, (64, 64), 1),
        ({"R": 8192, "B": 16, "T": 16 * 1024}, (128, 128), 1),
    ],
)
def test_tiles_on_sm_90(sizes: dict[str, int], tile: tuple[int, int], splits: int) -> None:
    got = choose_hopper(staged("bfloat16", **sizes), H200["cores"], {})
    assert (got.block_m, got.block_n) == tile
    assert got.splits == splits


@given(st.integers(1, 600), st.integers(1, 40), st.integers(0, 20_000), st.sampled_from([64, 128]))
def test_no_part_on_sm_90_is_short(rows: int, requests: int, tokens: int, size: int) -> None:
    problem = staged(R=rows * requests, B=requests, T=tokens * requests, d=size)
    got = choose_hopper(problem, H200["cores"], {})
    assert got.splits == 1 or tokens >= SHORTEST_PART * got.splits


@pytest.mark.parametrize(
    ("sizes", "tile", "keys"),
    [
        ({}, {"block_n": 128}, 128),
        ({}, {"stages": 4}, 128),
        ({}, {}, 64),  # two blocks an SM
        ({}, {"block_m": 128, "block_n": 128}, 64),  # no room
        ({"d": 64}, {"block_m": 128, "block_n": 128}, 128),
        ({"H": 64}, {"block_n": 128}, 64),  # a consumer has 24 of them
    ],
)
def test_own_keys_of_a_unit(sizes: dict[str, int], tile: dict[str, int], keys: int) -> None:
    shape = replace(Tiles(64, 64, warps=4, stages=2), **tile)
    assert own_block(staged(S=3, **sizes), shape) == keys


def test_a_tuned_value_overrules_on_sm_90() -> None:
    given = {"block_m": 128, "block_n": 64, "stages": 4, "splits": 8, "chunk": 1}
    assert choose_hopper(staged(), H200["cores"], given) == Tiles(warps=4, **given)


@pytest.mark.parametrize("rows", [128, 8192])
def test_the_space_holds_legal_tiles(rows: int) -> None:
    found = space(staged(R=rows, B=rows // 128, T=8 * rows), **H200)
    assert set(found) == {"cuda.hopper", "cuda.triton"}
    for configs in found.values():
        assert len(configs) == len({tuple(c.items()) for c in configs}) > 1
        assert all(set(c) == set(TUNABLES) for c in configs)
        assert any(c["splits"] > 1 for c in configs) == (rows == 128)


@pytest.mark.parametrize(
    ("sizes", "why"),
    [({"d": 96}, "head size"), ({"H": 24}, "group"), ({"H": 512, "G": 2}, "group")],
)
def test_what_the_sm_90_kernel_leaves_to_others(sizes: dict[str, int], why: str) -> None:
    assert [reason.code for reason in HOPPER["rule"](staged("bfloat16", **sizes))] == [why]


def test_powers_of_two() -> None:
    assert [power_of_two(n) for n in (1, 2, 3, 16, 17)] == [1, 2, 4, 16, 32]


@pytest.mark.parametrize(("buckets", "max_distance"), [(32, 128), (16, 128), (8, 64), (16, 20)])
def test_buckets_are_the_definition_s(buckets: int, max_distance: int) -> None:
    expected = relative_buckets(-np.arange(3000), buckets, max_distance, bidirectional=False)
    np.testing.assert_array_equal(bucket_table(3000, buckets, max_distance), expected)


def test_the_longer_stage_has_more_of_the_machine() -> None:
    (long, _), (short, few), (none, most) = (
        groups.divide(staged(T=tokens), 132, {}) for tokens in (8192, 256, 0)
    )
    assert long > short > none > 0
    assert short + few == none + most == 132


def test_values_divide_the_machine_and_are_held_to_it() -> None:
    values = {"shared_cores": 100, "unshared_cores": 20}
    assert groups.divide(staged(), 132, values) == (100, 20)
    assert groups.divide(staged(), 132, {"unshared_cores": 20}) == (112, 20)
    for wrong in ({"unshared_cores": 0}, {"shared_cores": 133}):
        with pytest.raises(InputError, match="allowed: 1 to 132"):
            groups.divide(staged(), 132, wrong)


@pytest.mark.parametrize("cores", [2, 4, 108, 132])
def test_divisions_leave_no_core_out(cores: int) -> None:
    found = groups.space(staged(), cores, 90)
    assert len({one["unshared_cores"] for one in found}) == len(found) > 0
    assert all(sum(one.values()) == cores and min(one.values()) > 0 for one in found)


def test_stages_apart_are_chosen_by_a_table_alone() -> None:
    priorities = {k.name: k.priority for k in KERNELS if k.op == "staged_attention"}
    (split,) = (k for k in KERNELS if k.name == "cuda.split")
    assert min(priorities, key=lambda name: priorities[name]) == split.name
    assert split.configs(staged(), 132, "sm_90")[1:] == groups.space(staged(), 132, 90)
    assert not tuple(split.auto(staged()))


# -- kernels, interpreted -------------------------------------------------------------------------

needs_interpreter = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)


class Fixed:
    """A kernel's context with other tuned values."""

    def __init__(self, context: Context, config: Mapping[str, int]) -> None:
        self.config = config
        self.empty, self.bind = context.empty, context.bind


def forced(op: str, config: Mapping[str, int], technique: str = "triton") -> str:
    """The name of a kernel that is built with given values."""
    from importlib import import_module

    body = import_module(f"xgr.backends.cuda.{op}.{technique}")

    def build(problem: Problem, context: Context) -> Launcher:
        launcher: Launcher = body.build(problem, Fixed(context, config))
        return launcher

    name = f"cuda.{'_'.join(f'{k}{v}' for k, v in config.items())}"
    rt = interpreted()
    if name not in {k.name for k in rt.kernels(op)}:
        rt.register(Kernel(op, name, build, priority=-1))
    return name


CUT = {"block_m": 16, "block_n": 16, "splits": 4, "chunk": 1}
ROWS = {"R": 5, "H": 2, "G": 1, "d": 16, "B": 2}
SPLIT_CASES = [
    Case("staged_attention", {**ROWS, "T": 140, "S": 2}, "float16", {"step": 2, "ancestors": True}),
    Case("staged_attention", {**ROWS, "T": 140, "S": 2}, "float32", {"step": 1}),
    Case("shared_attention", {**ROWS, "T": 140}, "bfloat16", {"prompt": "full"}),
    Case(
        "prefill_attention",
        {"N": 9, "H": 2, "G": 1, "d": 16, "T": 140, "B": 2},
        "float16",
        {"causal": True, "cached": True},
    ),
    Case(
        "prefill_attention",
        {"N": 20, "H": 2, "G": 1, "d": 16, "T": 140, "B": 2},
        "float32",
        {"causal": False, "cached": True, "buckets": 8},
    ),
]


@needs_interpreter
@pytest.mark.parametrize("case", SPLIT_CASES, ids=[case.id for case in SPLIT_CASES])
@pytest.mark.filterwarnings(*(mark.args[0] for mark in QUIET))
def test_a_split_prompt_is_joined(case: Case) -> None:
    # runs twice in a row: the counters of arrived parts are back at zero
    result = run_case(interpreted(), forced(case.op, CUT), case)
    assert result.outcome is Outcome.OK, "\n".join(result.notes)


@needs_interpreter
@pytest.mark.filterwarnings(*(mark.args[0] for mark in QUIET))
def test_a_stage_in_many_waves_is_whole() -> None:
    sizes = {"R": 20, "H": 2, "G": 2, "d": 16, "T": 100, "S": 2, "B": 4}
    case = Case("staged_attention", sizes, "float16", {"step": 2, "ancestors": True})
    result = run_case(
        interpreted(), forced(case.op, {"shared_cores": 1, "unshared_cores": 1}, "split"), case
    )
    assert result.outcome is Outcome.OK, "\n".join(result.notes)


def arguments(case: Case) -> dict[str, Any]:
    rt, declared = interpreted(), spec(case.op)
    host = declared.build(case)
    values = {k: rt.upload(x) if isinstance(x, np.ndarray) else x for k, x in host.items()}
    q: Any = values["q"]
    return {**values, "out": q.clone(), "lse": q[..., 0].float().clone()}


@needs_interpreter
@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan")])
def test_a_scale_that_is_not_positive_is_refused(scale: float) -> None:
    case = Case("shared_attention", {**ROWS, "T": 20}, "float32")
    with pytest.raises(InputError, match="scale is"):
        interpreted().shared_attention(**{**arguments(case), "scale": scale})


@needs_interpreter
def test_columns_that_lie_apart_are_refused_by_name() -> None:
    values = arguments(Case("shared_attention", {**ROWS, "T": 20}, "float32"))
    values["k"] = values["k"].transpose(0, 2).contiguous().transpose(0, 2)
    with pytest.raises(InputError, match=r"k has strides \[1, 20, 20\]"):
        interpreted().shared_attention(**values)
