"""Results depend on the inputs alone: not on the order or number of cores, nor on old memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.ascend.emulator import ops
from tests.ascend.emulator.built import need_compiler
from tests.ascend.emulator.machine import Order, tiling
from xgr.conformance.laid import with_outputs
from xgr.conformance.runner import expected
from xgr.ops import spec
from xgr.ops.spec import Case

need_compiler()

SORT = Case(
    "beam_sort",
    {"B": 3, "R": 7, "C": 90, "RO": 25},
    flags={"live": "some", "data": "ties", "nobody": 1},
)
REORDER = Case("kv_reorder", {"L": 2, "R": 21, "S": 3, "G": 2, "d": 16, "B": 3}, flags={"step": 2})


def values_of(case: Case, order: str = "") -> tuple[dict[str, Any], dict[str, Any], Case]:
    """Arguments with outputs, what must come out, and the case with its order."""
    if order:
        case = Case(case.op, case.sizes, case.dtype, {**case.flags, "order": order})
    declared = spec(case.op)
    host = declared.build(case)
    values = with_outputs(declared, host, case.sizes, case.dtype)
    for arg in declared.args:
        if arg.role != "in":
            values[arg.name] = np.copy(values[arg.name])
    return values, dict(expected(declared, case, host)), case


def agrees(case: Case, values: dict[str, Any], want: dict[str, Any]) -> None:
    declared = spec(case.op)
    got = {name: values[name] for name in want}
    assert not declared.compare(case, declared.build(case), want, got)


@pytest.mark.parametrize("order", ["path", "rank"])
def test_every_order_of_three_cores_selects_the_same_beams(order: str) -> None:
    # each launch has an order of its own
    phases = {"path": 2, "rank": 3}[order]
    for number in range(math.factorial(3) ** phases):
        values, want, case = values_of(SORT, order)
        ops.beam_sort(**values, cores=3, order_of_cores=Order(number, exact=True))
        agrees(case, values, want)


def test_every_order_of_four_cores_moves_the_same_rows() -> None:
    for number in range(math.factorial(4)):
        values, want, case = values_of(REORDER)
        ops.kv_reorder(**values, cores=4, order_of_cores=Order(number, exact=True))
        agrees(case, values, want)


@pytest.mark.parametrize("cores", [1, 2, 20, 24, 40, 48])
@pytest.mark.parametrize("order", ["path", "rank"])
def test_any_number_of_cores_selects_the_same_beams(cores: int, order: str) -> None:
    values, want, case = values_of(SORT, order)
    ops.beam_sort(**values, cores=cores, order_of_cores=Order(cores))
    agrees(case, values, want)


@pytest.mark.parametrize("filling", [0x00, 0x7F, 0xFF])
def test_what_the_workspace_held_before_does_not_matter(filling: int) -> None:
    for order in ("path", "rank"):
        values, want, case = values_of(SORT, order)
        workspace = np.full(1 << 16, filling, np.uint8)
        ops.beam_sort(**values, workspace=workspace)
        agrees(case, values, want)


def test_tiles_below_the_threshold_are_skipped() -> None:
    """Rows in descending order of their scores: what comes first decides."""
    rows, columns, width, cores = 40, 1024, 16, 2
    rng = np.random.default_rng(0)
    scores = rng.random((rows, columns)).astype(np.float32)
    scores -= 10 * np.arange(rows, dtype=np.float32)[:, None] % 200
    words = tiling("beam_topk", 1, rows, columns, width, cores)
    workspace = np.zeros(int(words[0]), np.uint8)
    ops.beam_sort(
        scores=scores,
        cumulative=np.zeros(rows, np.float32),
        row_start=np.array([0, rows], np.int32),
        live=np.array([rows], np.int32),
        row_start_out=np.array([0, width], np.int32),
        out_width=np.array([width], np.int32),
        order="path",
        parent=np.zeros(width, np.int32),
        code=np.zeros(width, np.int32),
        score=np.zeros(width, np.float32),
        live_out=np.zeros(1, np.int32),
        cores=cores,
        words=words,
        workspace=workspace,
    )
    lists = workspace[: cores * (32 + 8 * width)].reshape(cores, -1)[:, :32].view(np.int32)
    seen, skipped = lists[:, 2], lists[:, 3]
    assert seen.sum() == rows
    # of each core's twenty rows none but the first can be kept
    assert (skipped == seen - 1).all()
