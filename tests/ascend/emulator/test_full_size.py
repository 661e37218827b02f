"""The sizes that are served: 512 beams of 8192 codes, on as many cores as a 910B1 has."""

from __future__ import annotations

import pytest

from tests.ascend.emulator import ops
from tests.ascend.emulator.built import need_compiler
from tests.ascend.emulator.machine import Order
from tests.ascend.emulator.test_orders import agrees, values_of
from xgr.ops.spec import Case, Flag

need_compiler()

WIDE = {"B": 1, "R": 512, "RO": 512}


@pytest.mark.parametrize("order", ["path", "rank"])
def test_a_step_of_512_beams(order: str) -> None:
    flags: dict[str, Flag] = {"level": 1, "normalize": "vocab", "order": order, "items": 200_000}
    values, want, case = values_of(Case("beam_step", {**WIDE, "K": 8192}, "bfloat16", flags))
    ops.beam_step(**values, cores=48, order_of_cores=Order(1))
    agrees(case, values, want)


def test_a_sort_of_512_beams() -> None:
    case = Case("beam_sort", {**WIDE, "C": 8192}, flags={"order": "path", "data": "ties"})
    values, want, case = values_of(case)
    ops.beam_sort(**values, cores=48, order_of_cores=Order(2))
    agrees(case, values, want)


def test_layers_of_512_beams() -> None:
    sizes = {"L": 4, "R": 512, "S": 2, "G": 8, "d": 128, "B": 1}
    values, want, case = values_of(Case("kv_reorder", sizes, "bfloat16", {"step": 2}))
    ops.kv_reorder(**values, cores=48, order_of_cores=Order(3))
    agrees(case, values, want)
