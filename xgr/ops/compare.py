"""Rules by which an output agrees with its definition, and the one table of tolerances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xgr.ops.spec import Case, Compare, Values

# |got - expected| <= absolute + relative * |expected|, by the case's model dtype and the output's
# own. A kernel may round the softmax weights of a 16-bit model to that model's dtype, which shows
# in its 16-bit outputs; its float32 outputs are sums of exact products.
TOLERANCES: dict[tuple[str, str], tuple[float, float]] = {
    ("float32", "float32"): (2e-5, 2e-5),
    ("float16", "float16"): (2e-3, 2e-3),
    ("bfloat16", "bfloat16"): (1e-2, 1.6e-2),
    ("float16", "float32"): (1e-3, 1e-3),
    ("bfloat16", "float32"): (1e-3, 1e-3),
}


def exact(*names: str) -> Compare:
    """The outputs are equal, NaN where NaN is expected."""

    def compare(case: Case, inputs: Values, expected: Values, got: Values) -> Sequence[str]:
        return [
            c
            for name in names
            if expected.get(name) is not None  # an optional argument that the case leaves out
            for c in _disagreement(name, expected[name], got[name], 0, 0)
        ]

    return compare


def close(*names: str) -> Compare:
    """The outputs are within the tolerance of their dtype; NaN and infinities are in place."""

    def compare(case: Case, inputs: Values, expected: Values, got: Values) -> Sequence[str]:
        complaints = []
        for name in names:
            if expected.get(name) is None:  # an optional argument that the case leaves out
                continue
            absolute, relative = TOLERANCES[case.dtype, expected[name].dtype.name]
            complaints += _disagreement(name, expected[name], got[name], absolute, relative)
        return complaints

    return compare


def both(*rules: Compare) -> Compare:
    """Every rule holds."""

    def compare(case: Case, inputs: Values, expected: Values, got: Values) -> Sequence[str]:
        return [c for rule in rules for c in rule(case, inputs, expected, got)]

    return compare


def either(flag: str, rule: Compare, other: Compare) -> Compare:
    """A rule for cases with a flag, and one for the others."""

    def compare(case: Case, inputs: Values, expected: Values, got: Values) -> Sequence[str]:
        return (rule if case.flags.get(flag) else other)(case, inputs, expected, got)

    return compare


def _disagreement(
    name: str, expected: NDArray[Any], got: NDArray[Any], absolute: float, relative: float
) -> list[str]:
    """At most one complaint: the worst element of an output."""
    if expected.shape != got.shape or expected.dtype != got.dtype:
        return [
            f"{name} is {got.dtype} {list(got.shape)}, "
            f"expected {expected.dtype} {list(expected.shape)}"
        ]
    want, have = (x.astype(np.float64) for x in (expected, got))
    with np.errstate(invalid="ignore"):
        error = np.abs(have - want)
        excess = error - (absolute + relative * np.abs(want))
    special = ~np.isfinite(want) | ~np.isfinite(have)
    alike = (want == have) | (np.isnan(want) & np.isnan(have))
    excess[special] = np.where(alike, -np.inf, np.inf)[special]
    wrong = int((excess > 0).sum())
    if not wrong:
        return []
    worst = np.unravel_index(int(excess.argmax()), excess.shape)
    place = ", ".join(str(int(i)) for i in worst)
    return [
        f"{name}[{place}] is {got[worst]}, expected {expected[worst]} "
        f"(tolerance {absolute:g} + {relative:g} * |expected|); "
        f"{wrong} of {want.size} elements are wrong"
    ]
