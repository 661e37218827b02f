"""A bound op serves batch after batch: nothing of the first one is frozen in it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from xgr.conformance.entries import cases_of, kernel_names
from xgr.conformance.laid import with_outputs
from xgr.conformance.runner import REFERENCE, expected
from xgr.ops import spec, specs
from xgr.ops.spec import Case, Problem
from xgr.registry.bind import Bound
from xgr.runtime import runtime

OPS = [op for op in specs() if "live" in {arg.name for arg in spec(op).args}]
PAIRS = [(op, kernel) for op in OPS for kernel in kernel_names("cpu", op) if kernel != REFERENCE]


def varied(op: str) -> list[Case]:
    """The first small cases of several requests."""
    found = [c for c in cases_of(op) if c.sizes["B"] in (2, 3) and c.sizes["R"] <= 40]
    return found[:12]


@pytest.mark.parametrize(("op", "kernel"), PAIRS)
def test_other_rows_lengths_and_values_in_the_same_sizes(op: str, kernel: str) -> None:
    declared, rt = spec(op), runtime("cpu")
    again = 0
    for case in varied(op):
        bounds: dict[Problem, Bound] = {}
        for seed in (1, 2, 3, 1):
            batch = replace(case, seed=seed)
            host = declared.build(batch)
            wanted = expected(declared, batch, host)
            values: dict[str, Any] = with_outputs(declared, host, batch.sizes, batch.dtype)
            problem = declared.problem(values, batch.dtype)
            again += problem in bounds
            bound = bounds.setdefault(problem, rt.bind(op, problem, kernel))
            bound(**values)
            got = {name: np.asarray(values[name]) for name in wanted}
            assert list(declared.compare(batch, host, wanted, got)) == [], batch.id
    assert again >= 6
