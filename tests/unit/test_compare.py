"""The compare rules complain about every kind of wrong output, and say where it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from xgr.ops.compare import both, close, exact
from xgr.ops.spec import Case, Compare

Array = NDArray[Any]


def complaints(rule: Compare, expected: Array, got: Array, dtype: str = "float32") -> Sequence[str]:
    return rule(Case("linear", {}, dtype), {}, {"out": expected}, {"out": got})


def test_equal_outputs_pass_with_nan_and_infinities_in_place() -> None:
    values = np.array([[1.0, np.nan], [np.inf, -np.inf]], np.float32)
    for rule in (exact("out"), close("out")):
        assert complaints(rule, values, values.copy()) == []


@pytest.mark.parametrize(
    ("expected", "got"),
    [(1.0, np.nan), (np.nan, 1.0), (np.inf, -np.inf), (-np.inf, -1e30), (0.0, np.inf)],
)
@pytest.mark.parametrize("rule", [exact("out"), close("out")])
def test_special_values_must_be_in_place(rule: Compare, expected: float, got: float) -> None:
    want, have = (np.array([[0.5, 0.5, x]], np.float32) for x in (expected, got))
    (complaint,) = complaints(rule, want, have)
    assert "out[0, 2]" in complaint
    assert "1 of 3" in complaint


def test_the_worst_element_is_named() -> None:
    want = np.zeros((3, 4), np.float32)
    have = want.copy()
    have[0, 1], have[2, 3] = 0.25, -0.75
    (complaint,) = complaints(close("out"), want, have)
    assert complaint.startswith("out[2, 3] is -0.75, expected 0.0")
    assert "2 of 12 elements" in complaint


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_close_allows_one_rounding_of_the_dtype_and_not_many(dtype: str) -> None:
    kind = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}[dtype]
    step = {"float32": 2**-23, "float16": 2**-10, "bfloat16": 2**-7}[dtype]
    want = np.array([1.0], kind)
    assert complaints(close("out"), want, np.array([1 + step], kind), dtype) == []
    assert complaints(close("out"), want, np.array([1.1], kind), dtype)


def test_exact_allows_nothing() -> None:
    want = np.array([1.0], np.float32)
    assert complaints(exact("out"), want, np.nextafter(want, np.float32(2)))


def test_shapes_and_dtypes_must_agree() -> None:
    want = np.zeros((2, 3), np.float32)
    for have in (want.T, want.astype(np.float64)):
        (complaint,) = complaints(close("out"), want, have)
        assert "expected float32 [2, 3]" in complaint


def test_both_reports_each_rule_and_absent_optional_outputs_are_skipped() -> None:
    case, want = Case("rms_norm", {}), {"out": np.zeros(1, np.float32)}
    rule = both(close("out", "residual"), exact("out"))
    assert len(rule(case, {}, want, {"out": np.ones(1, np.float32)})) == 2
