"""Tuned tables: read, check, walk. A table is a decision tree as plain arrays in JSON.

Each leaf names a candidate (kernel and the values of its tunables). A table of another schema or
op version, or one that cannot be walked, is refused with the reason, and priority serves.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any

from xgr.errors import InputError
from xgr.ops.dtype import MODEL_DTYPES
from xgr.ops.spec import OpSpec, Problem

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Entry:
    """What a table says about a problem."""

    kernel: str
    config: Mapping[str, int]
    source: str


@dataclass(frozen=True, slots=True)
class Table:
    """A decision tree over a problem's axis sizes.

    Attributes:
        path: where it was read.
        features: axis names; feature[i] < 0 marks node i as a leaf.
        feature, threshold, left, right: the tree; go left when size <= threshold.
        leaf: candidate index of each node (of leaves only).
        candidates: kernel name and config of each candidate.
    """

    path: str
    features: Sequence[str]
    feature: Sequence[int]
    threshold: Sequence[float]
    left: Sequence[int]
    right: Sequence[int]
    leaf: Sequence[int]
    candidates: Sequence[tuple[str, Mapping[str, int]]]

    def walk(self, problem: Problem) -> Entry:
        """The candidate of the leaf that the problem falls in."""
        sizes = problem.sizes
        values = [sizes.get(name, 0) for name in self.features]
        node = 0
        while self.feature[node] >= 0:
            below = values[self.feature[node]] <= self.threshold[node]
            node = self.left[node] if below else self.right[node]
        kernel, config = self.candidates[self.leaf[node]]
        return Entry(kernel, config, f"tuned table {self.path}, leaf {node}")


@dataclass(slots=True)
class Tables:
    """The tables of a device, by op and dtype, and why others were refused."""

    by_key: dict[tuple[str, str], Table] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)

    def lookup(self, problem: Problem) -> Entry | None:
        """The entry of a problem, None where there is no table."""
        table = self.by_key.get((problem.op, problem.dtype))
        return table.walk(problem) if table is not None else None

    def read(self, folder: Path, specs: Mapping[str, OpSpec]) -> None:
        """Add the tables of a folder for the ops of this build; the first of an op and dtype stays.

        Raises:
            InputError: there is no such folder.
        """
        if not folder.is_dir():
            raise InputError(f"no folder of tuned tables at {folder}: give an existing folder")
        for path in sorted(folder.glob("*.json")):
            try:
                raw = json.loads(path.read_text())
                reason = _mismatch(raw, specs) or self._taken(raw)
                if not reason:
                    self.by_key[raw["op"], raw["dtype"]] = _table(path.name, raw, specs[raw["op"]])
            except (
                OSError,
                ValueError,
                KeyError,
                TypeError,
                RecursionError,
                OverflowError,
            ) as error:
                reason = f"cannot be read ({error!r})"
            if reason:
                self.refused.append(f"{path.name}: {reason}")

    def _taken(self, raw: Any) -> str:
        first = self.by_key.get((raw["op"], raw["dtype"]))
        return f"{first.path} serves {raw['op']} in {raw['dtype']} already" if first else ""


def _mismatch(raw: Any, specs: Mapping[str, OpSpec]) -> str:
    if raw["schema"] != SCHEMA:
        return f"schema {raw['schema']}, this build reads {SCHEMA}"
    if raw["op"] not in specs:
        return f"op {raw['op']!r} is not declared"
    version = specs[raw["op"]].version
    if raw["op_version"] != version:
        return f"made for version {raw['op_version']} of {raw['op']}, now {version}"
    if raw["dtype"] not in MODEL_DTYPES:
        return f"dtype {raw['dtype']!r} is none of {', '.join(MODEL_DTYPES)}"
    return ""


def _table(name: str, raw: Any, spec: OpSpec) -> Table:
    tree, features = raw["tree"], raw["features"]
    strange = (
        [f for f in features if f not in spec.axes] if isinstance(features, list) else features
    )
    if strange:
        raise ValueError(f"features {strange} are no axes of {spec.name}")
    _check_columns(tree)
    nodes = len(tree["feature"])
    columns = [tree[key] for key in ("threshold", "left", "right", "leaf")]
    if nodes == 0 or any(len(column) != nodes for column in columns):
        raise ValueError("the tree's columns differ in length")
    for node, feature in enumerate(tree["feature"]):
        if feature >= len(features):
            raise ValueError(f"node {node} names feature {feature}")
        if feature < 0 and not 0 <= tree["leaf"][node] < len(raw["candidates"]):
            raise ValueError(f"leaf {node} names candidate {tree['leaf'][node]}")
        # children after their parent: the walk ends
        if feature >= 0 and not node < min(tree["left"][node], tree["right"][node]) < nodes:
            raise ValueError(f"node {node} has no children behind it")
        if feature >= 0 and max(tree["left"][node], tree["right"][node]) >= nodes:
            raise ValueError(f"node {node} has children outside the tree")
    threshold, left, right, leaf = columns
    candidates = [_candidate(c) for c in raw["candidates"]]
    return Table(name, features, tree["feature"], threshold, left, right, leaf, candidates)


def _check_columns(tree: Any) -> None:
    """The walk compares and indexes with these, on the way to every bind."""
    for key in ("feature", "left", "right", "leaf"):
        if not all(type(value) is int for value in tree[key]):
            raise ValueError(f"{key} holds more than integers")
    if not all(type(value) in (int, float) and isfinite(value) for value in tree["threshold"]):
        raise ValueError("threshold holds more than finite numbers")


def _candidate(raw: Any) -> tuple[str, Mapping[str, int]]:
    kernel, config = raw["kernel"], raw.get("config", {})
    if type(kernel) is not str or not isinstance(config, dict):
        raise ValueError(f"candidate {raw} needs a kernel's name and its config")
    if not all(type(value) is int for value in config.values()):
        raise ValueError(f"the config of {kernel} holds more than integers: {config}")
    return kernel, config
