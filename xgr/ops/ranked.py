"""Compare rules of selections: equal in every element, or up to near ties."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from xgr.ops.spec import Case, Compare, Values


def identical(case: Case, inputs: Values, expected: Values, got: Values) -> Sequence[str]:
    """Every output equal in every element; NaN equals NaN, 0 equals -0."""
    return [text for name in expected if (text := difference(name, expected[name], got[name]))]


def difference(name: str, expected: NDArray[np.generic], got: NDArray[np.generic]) -> str:
    """What differs first, in one sentence; empty when nothing does."""
    if expected.shape != got.shape or expected.dtype != got.dtype:
        return (
            f"{name} is {got.dtype}{list(got.shape)}, expected "
            f"{expected.dtype}{list(expected.shape)}"
        )
    unequal = expected != got
    if expected.dtype.kind != "i":
        unequal &= ~(np.isnan(expected) & np.isnan(got))
    if not unequal.any():
        return ""
    at = tuple(int(i) for i in np.argwhere(unequal)[0])
    return (
        f"{name}{list(at)} is {got[at]}, expected {expected[at]}; "
        f"{int(unequal.sum())} of {unequal.size} differ"
    )


def ranked(absolute: float, relative: float, score: str, starts: str) -> Compare:
    """Rule for beams whose scores may differ by rounding.

    Beams of both sides agree in everything but the score, which is close. A beam of one side only
    is within the tolerance of the worst that is kept. The order is that of the side's own scores.

    Args:
        absolute: a score differs by at most absolute + relative * |score|.
        relative: see absolute.
        score: name of the output that holds it.
        starts: name of the input that holds each request's first output row.
    """

    def compare(case: Case, inputs: Values, expected: Values, got: Values) -> Sequence[str]:
        exact = expected.keys() & {"live_out", "status"}
        found = [t for n in sorted(exact) if (t := difference(n, expected[n], got[n]))]
        if found:
            return found
        row_start = inputs[starts]
        alive = np.zeros(len(expected[score]), np.bool_)
        for request, count in enumerate(expected["live_out"]):
            rows = slice(int(row_start[request]), int(row_start[request]) + int(count))
            alive[rows] = True
            want, have = (_beams(side, score, rows) for side in (expected, got))
            found += [f"request {request}: {t}" for t in _unlike(want, have, absolute, relative)]
            if not _in_order(have, str(case.flags["order"])):
                found.append(f"request {request}: the beams are not in {case.flags['order']} order")
        for name in sorted(expected.keys() - exact):
            dead, same = expected[name][~alive], got[name][~alive]
            found += filter(None, [difference(f"dead rows of {name}", dead, same)])
        return found

    return compare


# (parent, code, ...) and score of each beam, in the order in which they came
Beams = list[tuple[tuple[int, ...], float]]


def _beams(side: Values, score: str, rows: slice) -> Beams:
    names = [n for n in ("parent", "code", "node_out") if n in side]
    keys = zip(*(side[n][rows].tolist() for n in names), strict=True)
    return list(zip(keys, side[score][rows].tolist(), strict=True))


def _unlike(
    expected: Beams,
    got: Beams,
    absolute: float,
    relative: float,
) -> list[str]:
    want, have = dict(expected), dict(got)
    if len(have) != len(got):
        return ["a beam comes twice"]
    cut = min(want.values(), default=0.0)
    found = []
    for key in want.keys() | have.keys():
        one = want.get(key, cut)
        other = have.get(key, cut)
        if not abs(one - other) <= absolute + relative * abs(one):
            sides = f"{have.get(key, 'absent')}, expected {want.get(key, 'absent')}"
            found.append(f"the score of {key} is {sides}; the worst kept is {cut}")
    return found[:3]


def _in_order(beams: Beams, order: str) -> bool:
    if order == "rank":
        keys: list[tuple[float, ...]] = [(-score, *key[:2]) for key, score in beams]
    else:
        keys = [key[:2] for key, _ in beams]
    return all(one < following for one, following in pairwise(keys))
