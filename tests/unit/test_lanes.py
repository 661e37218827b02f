"""Reductions that Triton compiles wrong are seen in what it makes of a kernel."""

from __future__ import annotations

import pytest

from xgr.backends.cuda.lanes import scattered

# as Triton 3.6 wrote them: two tiles of 32 as eight units, and what is left of each
KERNEL = """\
#blocked = #ttg.blocked<{{sizePerThread = [1, 1], threadsPerWarp = [2, 16], order = [0, 1]}}>
#linear = #ttg.linear<{{register = [[2, 0]], lane = {lanes}, warp = [], block = []}}>
module attributes {{"ttg.num-warps" = 1 : i32}} {{
    %best = arith.select %mine, %part, %none : tensor<8x8xi1, #linear>, tensor<8x8xi32, #linear>
    %most = "tt.{what}"(%best) <{{axis = {axis} : i32}}> ({{
    ^bb0(%left: i32, %right: i32):
      %greater = arith.maxsi %left, %right : i32
      tt.reduce.return %greater : i32
    }}) : (tensor<{shape}xi32, {layout}>) -> tensor<8xi32, #blocked>
"""
APART = "[[4, 0], [0, 1], [0, 2], [0, 4], [1, 0]]"
TOGETHER = "[[1, 0], [4, 0], [0, 1], [0, 2], [0, 4]]"
LINEAR = {"shape": "8x8", "layout": "#linear", "what": "reduce"}


def test_lanes_apart_along_the_axis_are_a_fault() -> None:
    found = scattered(KERNEL.format(lanes=APART, axis=0, **LINEAR))
    assert found == ["a reduce over bits [0, 4] of the lanes, which Triton takes to be neighbours"]
    (scan,) = scattered(KERNEL.format(lanes=APART, axis=0, **LINEAR | {"what": "scan"}))
    assert scan.startswith("a scan over bits [0, 4]")


def test_neighbours_are_none() -> None:
    assert not scattered(KERNEL.format(lanes=APART, axis=1, **LINEAR))
    assert not scattered(KERNEL.format(lanes=TOGETHER, axis=0, **LINEAR))
    assert not scattered(KERNEL.format(lanes="[]", axis=0, **LINEAR))


@pytest.mark.parametrize(("dim", "faults"), [(0, 0), (1, 1)])
def test_a_slice_has_the_lanes_of_the_other_axis(dim: int, faults: int) -> None:
    layout = f"#ttg.slice<{{dim = {dim}, parent = #linear}}>"
    text = KERNEL.format(lanes=APART, axis=0, shape="8", layout=layout, what="reduce")
    assert len(scattered(text)) == faults


def test_other_layouts_keep_an_axis_together() -> None:
    text = KERNEL.format(lanes=APART, axis=0, shape="8x8", layout="#blocked", what="reduce")
    assert not scattered(text)
