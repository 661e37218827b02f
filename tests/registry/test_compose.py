"""Ops made of others: what they are made of, the memory between them, what is said of a part."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from xgr.errors import Unsupported
from xgr.models.activations import Binder
from xgr.ops import specs
from xgr.ops.dtype import bfloat16, float32
from xgr.ops.spec import Problem
from xgr.registry.compose import parts_of
from xgr.runtime import Runtime, runtime

MADE = {
    "linear_swiglu": Problem.of("linear_swiglu", "float32", N=3, I=4, h=5),
    "staged_attention": Problem.of(
        "staged_attention", "float32", {"ancestors": False}, R=2, H=2, G=1, d=4, T=8, S=2, B=1
    ),
}


def cpu() -> Runtime:
    return runtime("cpu").lane()


def gate(rows: int) -> dict[str, Any]:
    rng = np.random.default_rng(rows)
    x, weight = (rng.standard_normal(shape, np.float32) for shape in ((rows, 5), (8, 5)))
    return {"x": x, "weight": weight, "out": np.empty((rows, 4), np.float32), "eps": 1e-6}


def test_declarations_and_compositions_name_the_same_parts() -> None:
    assert {op for op, declared in specs().items() if declared.composed_of} == set(MADE)
    for op, problem in MADE.items():
        assert tuple(part.op for part in parts_of(problem)) == specs()[op].composed_of


def test_scratch_is_shared_and_stays_where_it_was_when_it_grows() -> None:
    rt = cpu()
    first, smaller = rt.scratch((3, 5), float32), rt.scratch((2, 2), float32)
    assert (first.shape, smaller.shape) == ((3, 5), (2, 2))
    assert np.shares_memory(first, smaller)
    larger = rt.scratch((4, 5), float32)
    assert not np.shares_memory(first, larger)
    assert np.shares_memory(larger, rt.scratch((32,), float32))
    assert not np.shares_memory(larger, rt.scratch((1,), bfloat16))
    assert not np.shares_memory(larger, rt.lane().scratch((1,), float32))
    assert rt.scratch((0, 4), float32).shape == (0, 4)


def test_compositions_of_many_sizes_share_their_workspace() -> None:
    rt = cpu()
    wanted = []
    for rows in (5, 3, 9, 3):
        arguments = gate(rows)
        rt.bind("linear_swiglu", rt.problem("linear_swiglu", **arguments), "composed")(**arguments)
        wanted.append((arguments, np.copy(arguments["out"])))
    for arguments, want in wanted:  # those of before the scratch grew too
        rt.bind("linear_swiglu", rt.problem("linear_swiglu", **arguments), "composed")(**arguments)
        np.testing.assert_array_equal(arguments["out"], want)
        rt.linear_swiglu(**arguments)
        np.testing.assert_allclose(arguments["out"], want, rtol=1e-5, atol=1e-6)


def test_a_part_that_cannot_run_is_said_with_the_whole() -> None:
    rt = cpu()
    rt._kernels["normed_swiglu"] = []
    arguments = gate(3)
    problem = rt.problem("linear_swiglu", **arguments)
    said = r"linear_swiglu\[.*\] would be composed of linear and normed_swiglu: no kernel can run"
    with pytest.raises(Unsupported, match=said):
        rt.bind("linear_swiglu", problem, "composed")
    with pytest.raises(Unsupported, match=said):
        rt.explain("linear_swiglu", problem, "composed")


def test_a_decoder_binds_the_parts_itself_unless_the_composition_is_forced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rt = cpu()
    rt._kernels["linear_swiglu"] = []
    assert Binder(rt).whole("linear_swiglu", **gate(3)) is None
    monkeypatch.setenv("XGR_KERNEL", "linear_swiglu=composed")
    forced = Runtime("cpu", rt.backend)
    bound = Binder(forced).whole("linear_swiglu", **gate(3))
    assert bound is not None
    assert bound.choice.forced
    assert bound.choice.parts == ("linear", "normed_swiglu")


@pytest.mark.parametrize(
    ("op", "arrays", "scalars"),
    [
        ("swiglu", {"gate_up": (3, 0), "out": (3, 0)}, {}),
        ("gelu_gated", {"gate_up": (3, 0), "out": (3, 0)}, {}),
        ("normed_swiglu", {"gate_up": (3, 0), "hidden": (3, 2), "out": (3, 0)}, {"eps": 1e-6}),
        ("linear_swiglu", {"x": (3, 2), "weight": (0, 2), "out": (3, 0)}, {"eps": 1e-6}),
    ],
)
def test_gates_of_no_columns(
    op: str, arrays: dict[str, tuple[int, int]], scalars: dict[str, float]
) -> None:
    rt = cpu()
    arguments: dict[str, Any] = {k: np.zeros(v, np.float32) for k, v in arrays.items()} | scalars
    problem = rt.problem(op, **arguments)
    kernels = [k.name for k in rt.kernels(op)] + (["composed"] if specs()[op].composed_of else [])
    for kernel in kernels:
        rt.bind(op, problem, kernel)(**arguments)
