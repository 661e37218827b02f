"""Tuned tables: read, check, walk. A table is a decision tree as plain arrays in JSON.

Each leaf names a candidate (kernel and the values of its tunables). A table of another op
version or kernel source is refused with the reason, and the heuristic serves.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from xgr.ops.spec import Problem

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Entry:
    """What a table says about a problem."""

    kernel: str
    config: Mapping[str, int]
    source: str
    predicted_us: float | None = None


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

    def read(self, folder: Path, versions: Mapping[str, int]) -> None:
        """Add the tables of a folder; `versions` holds the op versions of this build."""
        for path in sorted(folder.glob("*.json")):
            try:
                raw = json.loads(path.read_text())
                reason = _mismatch(raw, versions)
                if not reason:
                    self.by_key[raw["op"], raw["dtype"]] = _table(path.name, raw)
            except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
                reason = f"cannot be read ({error!r})"
            if reason:
                self.refused.append(f"{path.name}: {reason}")


def _mismatch(raw: Any, versions: Mapping[str, int]) -> str:
    if raw["schema"] != SCHEMA:
        return f"schema {raw['schema']}, this build reads {SCHEMA}"
    if raw["op"] not in versions:
        return f"op {raw['op']!r} is not declared"
    if raw["op_version"] != versions[raw["op"]]:
        return f"made for version {raw['op_version']} of {raw['op']}, now {versions[raw['op']]}"
    return ""


def _table(name: str, raw: Any) -> Table:
    tree = raw["tree"]
    nodes = len(tree["feature"])
    columns = [tree[key] for key in ("threshold", "left", "right", "leaf")]
    if nodes == 0 or any(len(column) != nodes for column in columns):
        raise ValueError("the tree's columns differ in length")
    for node, feature in enumerate(tree["feature"]):
        if feature >= len(raw["features"]):
            raise ValueError(f"node {node} names feature {feature}")
        if feature < 0 and not 0 <= tree["leaf"][node] < len(raw["candidates"]):
            raise ValueError(f"leaf {node} names candidate {tree['leaf'][node]}")
        # children after their parent: the walk ends
        if feature >= 0 and not node < min(tree["left"][node], tree["right"][node]) < nodes:
            raise ValueError(f"node {node} has no children behind it")
        if feature >= 0 and max(tree["left"][node], tree["right"][node]) >= nodes:
            raise ValueError(f"node {node} has children outside the tree")
    candidates = [(str(c["kernel"]), dict(c.get("config", {}))) for c in raw["candidates"]]
    threshold, left, right, leaf = columns
    return Table(name, raw["features"], tree["feature"], threshold, left, right, leaf, candidates)
