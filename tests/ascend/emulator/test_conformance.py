"""Every conformance case of the ops with a kernel in AscendC, on the emulated machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.ascend.emulator import ops
from tests.ascend.emulator.built import need_compiler
from tests.ascend.emulator.machine import Order
from xgr.conformance.entries import cases_of
from xgr.conformance.laid import with_outputs
from xgr.conformance.runner import expected
from xgr.ops import spec
from xgr.ops.spec import Case

need_compiler()

KERNELS: dict[str, Callable[..., None]] = {
    "beam_sort": ops.beam_sort,
    "beam_step": ops.beam_step,
    "kv_reorder": ops.kv_reorder,
    "mask_filter": ops.mask_filter,
}
CASES = [case for op in KERNELS for case in cases_of(op)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_agrees_with_the_definition(case: Case) -> None:
    declared = spec(case.op)
    host = declared.build(case)
    want = expected(declared, case, host)
    for cores, seed in ((7, 1), (1, 0)):
        values: dict[str, Any] = with_outputs(declared, host, case.sizes, case.dtype)
        for arg in declared.args:
            value = values.get(arg.name)
            if isinstance(value, np.ndarray) and (arg.role != "in" or case.flags.get("strided")):
                strided = case.flags.get("strided") and value.ndim > 1
                values[arg.name] = ops.padded(value) if strided else value.copy()
        KERNELS[case.op](**values, cores=cores, order_of_cores=Order(seed))
        got = {name: values[name] for name in want}
        complaints = declared.compare(case, host, want, got)
        assert not complaints, complaints
