"""Rows -> decision tree: features -> log(latency / row best) of every candidate.

One multi-output regression tree, whose leaves each name the candidate of least mean log-ratio. A
candidate that a problem does not list counts as the kernel's own rule there, since that is what
serves then (`registry.select`). Depth and leaves are those of least regret in cross-validation.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from xgr.errors import InputError
from xgr.ops import spec
from xgr.registry import features
from xgr.registry.table import work
from xgr.tuner.journal import Row

DEPTHS, LEAST_ROWS = (1, 2, 3, 4, 5, 6, 8), (1, 2, 3, 5)
FOLDS = 5
# fewer rows give no tree
LEAST = 8


@dataclass(frozen=True, slots=True)
class Fitted:
    """A tree in columns, as tables have it.

    Attributes:
        features: names.
        candidates: texts of the candidates that leaves name.
        columns: see `registry.table.Tree`; `leaf` counts in `candidates`.
        depth, least: greatest depth and least rows of a leaf, by cross-validation.
        cv_regret: mean regret of the folds.
    """

    features: Sequence[str]
    candidates: Sequence[str]
    columns: dict[str, list[Any]]
    depth: int
    least: int
    cv_regret: float

    def choose(self, row: Row) -> str:
        """The candidate that serves a problem."""
        values = features.values(row.problem, tuple(self.features))
        node, c = 0, self.columns
        while c["feature"][node] >= 0:
            below = values[c["feature"][node]] <= c["threshold"][node]
            node = c["left"][node] if below else c["right"][node]
        chosen = self.candidates[c["leaf"][node]]
        return chosen if chosen in row.us else row.own


def fit(rows: Sequence[Row]) -> Fitted:
    """The tree of rows, each of another problem.

    Raises:
        InputError: there are too few, or scikit-learn is not installed.
    """
    if len(rows) < LEAST:
        raise InputError(f"{len(rows)} rows give no tree, need {LEAST}: measure with more --budget")
    names = features.names(spec(rows[0].problem.op))
    known = list(dict.fromkeys(name for row in rows for name in row.us))
    x = [features.values(row.problem, names) for row in rows]
    y = [_ratios(row, known) for row in rows]
    grid = list(product(DEPTHS, LEAST_ROWS))
    cost = {one: _validated(x, y, *one) for one in grid}
    depth, least = min(grid, key=lambda one: (round(cost[one], 4), one[0], -one[1]))
    columns = _columns(_grown(x, y, depth, least), rows, x)
    used = sorted({at for at, f in zip(columns["leaf"], columns["feature"], strict=True) if f < 0})
    columns["leaf"] = [used.index(at) if at in used else -1 for at in columns["leaf"]]
    taken = [known[at] for at in used]
    return Fitted(names, taken, columns, depth, least, cost[depth, least])


def _ratios(row: Row, known: Sequence[str]) -> list[float]:
    best, own = min(row.us.values()), row.us[row.own]
    return [math.log(row.us.get(name, own) / best) for name in known]


def _validated(x: Sequence[Any], y: Sequence[Any], depth: int, least: int) -> float:
    """Mean regret of the choices of trees that have not seen the row."""
    found = []
    for fold in range(FOLDS):
        seen = [at for at in range(len(x)) if at % FOLDS != fold]
        tree = _grown([x[at] for at in seen], [y[at] for at in seen], depth, least)
        rest = [at for at in range(len(x)) if at % FOLDS == fold]
        for at, predicted in zip(rest, tree.predict([x[at] for at in rest]), strict=True):
            chosen = min(range(len(predicted)), key=predicted.__getitem__)
            found.append(math.exp(y[at][chosen]) - 1)
    return statistics.mean(found)


def _grown(x: Sequence[Any], y: Sequence[Any], depth: int, least: int) -> Any:
    try:
        from sklearn.tree import DecisionTreeRegressor
    except ImportError as error:
        hint = "pip install scikit-learn, or fit the rows elsewhere by `xgr tune fit`"
        raise InputError(f"a table is fitted with scikit-learn ({error}): {hint}") from error
    tree = DecisionTreeRegressor(max_depth=depth, min_samples_leaf=least, random_state=0)
    # of one candidate scikit-learn would make a column and not a row
    return tree.fit(x, y if len(y[0]) > 1 else [one * 2 for one in y])


def _columns(grown: Any, rows: Sequence[Row], x: Sequence[Any]) -> dict[str, list[Any]]:
    """The tree in order of a walk; a branch whose leaves name one candidate is a leaf."""
    tree, value = grown.tree_, grown.tree_.value[:, :, 0]
    chosen = [int(one.argmin()) for one in value]
    paths = grown.decision_path(x).toarray()
    names = ("feature", "threshold", "left", "right", "leaf", "over_best", "us_per_work")
    out: dict[str, list[Any]] = {name: [] for name in names}

    def same(node: int) -> set[int]:
        if tree.feature[node] < 0:
            return {chosen[node]}
        return same(tree.children_left[node]) | same(tree.children_right[node])

    def add(node: int) -> int:
        at, leaf = len(out["leaf"]), len(same(node)) == 1
        candidate = same(node).pop() if leaf else -1
        per_work = [
            math.log(min(row.us.values()) / work(row.problem))
            for row, path in zip(rows, paths, strict=True)
            if path[node]
        ]
        over = math.exp(float(value[node][candidate]))
        out["feature"].append(-1 if leaf else int(tree.feature[node]))
        out["threshold"].append(0.0 if leaf else float(tree.threshold[node]))
        out["leaf"].append(candidate)
        out["over_best"].append(over if leaf else 1.0)
        out["us_per_work"].append(over * math.exp(statistics.mean(per_work)))
        out["left"].append(0)
        out["right"].append(0)
        if not leaf:
            out["left"][at] = add(int(tree.children_left[node]))
            out["right"][at] = add(int(tree.children_right[node]))
        return at

    add(0)
    return out
