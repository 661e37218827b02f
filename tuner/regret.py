"""What a tree's choices cost on problems that it has not seen, by a second measurement.

The regret of a choice is its time over that of the best, less 1. The best is the fastest, by the
second measurement, of the choice and of the three that were fastest in the first: the noise of one
measurement neither picks the best nor times it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xgr.tuner.journal import Row
from xgr.tuner.space import OWN_RULE

TOP = 3


@dataclass(frozen=True, slots=True)
class Regret:
    """Regrets of one way to choose, as shares: 0.03 is 3 % slower than the best."""

    mean: float
    p95: float
    worst: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Regret:
        """Of one problem each; p95 is the least that 95 % do not exceed."""
        ranked = sorted(values)
        return cls(statistics.mean(ranked), ranked[math.ceil(0.95 * len(ranked)) - 1], ranked[-1])


@dataclass(frozen=True, slots=True)
class Judged:
    """A comparison on held-out problems.

    Attributes:
        problems: how many.
        tree, heuristic, fixed: of the tree, of the kernels' own rules and of the one candidate that
            is best over the rows of the fit.
        fixed_candidate: that one.
        gain_over_fixed, gain_over_heuristic: geometric mean of their time over the tree's.
        noise: median of how far the two measurements of one candidate are apart.
    """

    problems: int
    tree: Regret
    heuristic: Regret
    fixed: Regret
    fixed_candidate: str
    gain_over_fixed: float
    gain_over_heuristic: float
    noise: float


def judge(
    choose: Callable[[Row], str], fitted: Sequence[Row], pairs: Sequence[tuple[Row, Row]]
) -> Judged:
    """Judge a way to choose.

    Args:
        choose: the candidate of a problem, of those that its row lists.
        fitted: rows of the fit, from which the one fixed candidate is taken.
        pairs: first and second measurement of each held-out problem; at least one.
    """
    fixed = best_fixed(fitted)
    ways: Mapping[str, Callable[[Row], str]] = {
        "tree": choose,
        "heuristic": lambda row: row.own,
        "fixed": lambda row: fixed if fixed in row.us else row.own,
    }
    us: dict[str, list[float]] = {
        way: [second.us[_timed(pick(first), second)] for first, second in pairs]
        for way, pick in ways.items()
    }
    best = [_best(first, second) for first, second in pairs]
    regret = {
        way: Regret.of([max(0.0, t / min(t, b) - 1) for t, b in zip(times, best, strict=True)])
        for way, times in us.items()
    }
    apart = [
        abs(second.us[name] / first.us[name] - 1)
        for first, second in pairs
        for name in first.us.keys() & second.us.keys()
    ]
    return Judged(
        len(pairs), regret["tree"], regret["heuristic"], regret["fixed"], fixed,
        _geomean_ratio(us["fixed"], us["tree"]), _geomean_ratio(us["heuristic"], us["tree"]),
        statistics.median(apart),
    )  # fmt: skip


def best_fixed(rows: Sequence[Row]) -> str:
    """The configuration of least mean log-ratio to the row's best, of those that are one.

    What follows a kernel's own rule is another configuration for each problem: it is taken only
    where there is nothing else. A problem that does not list the configuration, which does not fit
    it, is served by its kernel's own rule.
    """

    def cost(name: str) -> float:
        logs = [math.log(r.us.get(name, r.us[r.own]) / min(r.us.values())) for r in rows]
        return statistics.mean(logs)

    known = dict.fromkeys(name for row in rows for name in row.us)
    whole = [name for name in known if not name.endswith(OWN_RULE)]
    # one that few problems list would be served by the rule on the rest
    common = [name for name in whole if 2 * sum(name in row.us for row in rows) >= len(rows)]
    return min(common or whole or known, key=cost)


def _timed(name: str, second: Row) -> str:
    return name if name in second.us else second.own


def _best(first: Row, second: Row) -> float:
    top = sorted(first.us, key=first.us.__getitem__)[:TOP]
    return min(second.us[_timed(name, second)] for name in top)


def _geomean_ratio(over: Sequence[float], under: Sequence[float]) -> float:
    logs = [math.log(a / b) for a, b in zip(over, under, strict=True)]
    return math.exp(statistics.mean(logs))
