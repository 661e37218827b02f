"""A tuned table: a decision tree as plain arrays in JSON, read, checked and walked.

Each leaf names a candidate, which is a kernel and the values of its tunables; a problem that was
measured as it stands gets the candidate that was fastest then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import floor, isfinite
from typing import Any

from xgr.ops import spec as declared
from xgr.ops.dtype import MODEL_DTYPES
from xgr.ops.spec import OpSpec, Problem
from xgr.registry import features

SCHEMA = 3
# what the times of a table are
MEASURED, MODELLED = "measured", "modelled, not measured"


@dataclass(frozen=True, slots=True)
class Entry:
    """What a table says about a problem.

    Attributes:
        kernel: the candidate's kernel.
        config: the values of its tunables.
        source: table, and leaf or row.
        over_best: of a leaf, the time that was predicted, in times of the fastest candidate's.
        predicted_us: of a leaf, microseconds, from those of its rows and the op's count of work.
        measured_us: of a row, microseconds.
        warning: the table is of another device.
    """

    kernel: str
    config: Mapping[str, int]
    source: str
    over_best: float | None = None
    predicted_us: float | None = None
    measured_us: float | None = None
    warning: str = ""


@dataclass(frozen=True, slots=True)
class Tree:
    """Nodes in columns; feature[i] < 0 marks a leaf; go left when the value <= threshold.

    Attributes:
        leaf: candidate of each node (of leaves only).
        over_best, us_per_work: of each node, see `Entry`; empty where nothing was predicted.
    """

    feature: Sequence[int]
    threshold: Sequence[float]
    left: Sequence[int]
    right: Sequence[int]
    leaf: Sequence[int]
    over_best: Sequence[float] = ()
    us_per_work: Sequence[float] = ()
    # (feature, threshold, left, right) down to leaves, which are ints; features are whole, and
    # whole thresholds compare in a third of the time
    _root: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        nodes: list[Any] = list(range(len(self.feature)))
        for at in reversed(nodes[:]):  # children stand behind their parent
            if self.feature[at] >= 0:
                below, above = nodes[self.left[at]], nodes[self.right[at]]
                nodes[at] = (self.feature[at], floor(self.threshold[at]), below, above)
        object.__setattr__(self, "_root", nodes[0])

    def walk(self, values: Sequence[int]) -> int:
        """The leaf that values fall in."""
        node = self._root
        while node.__class__ is tuple:
            at, threshold, below, above = node
            node = below if values[at] <= threshold else above
        leaf: int = node
        return leaf


@dataclass(frozen=True, slots=True)
class Table:
    """The choices of an op in a dtype.

    Attributes:
        path: where it was read.
        device: what it was measured on, or modelled for.
        basis: MEASURED or MODELLED.
        features: names, see `registry.features`.
        tree: over them.
        candidates: kernel name and config of each candidate.
        rows: features of measured problems -> their fastest candidate and its microseconds.
        sources: hash of each kernel that was measured, see `registry.source`.
        warning: handed on to every entry.
    """

    path: str
    op: str
    dtype: str
    device: str
    features: tuple[str, ...]
    tree: Tree
    candidates: Sequence[tuple[str, Mapping[str, int]]]
    rows: Mapping[tuple[int, ...], tuple[int, float]]
    sources: Mapping[str, str]
    basis: str = MEASURED
    warning: str = ""

    def choose(self, problem: Problem) -> Entry:
        """The candidate of a problem: of its row, else of the leaf that it falls in."""
        values = features.values(problem, self.features)
        row = self.rows.get(values)
        if row is not None:
            kernel, config = self.candidates[row[0]]
            if self.basis == MODELLED:
                source = f"tuned table {self.path}, a modelled row"
                return Entry(kernel, config, source, 1.0, row[1], warning=self.warning)
            source = f"tuned table {self.path}, a measured row"
            return Entry(kernel, config, source, measured_us=row[1], warning=self.warning)
        leaf = self.tree.walk(values)
        kernel, config = self.candidates[self.tree.leaf[leaf]]
        source = f"tuned table {self.path}, leaf {leaf}"
        if not self.tree.over_best:
            return Entry(kernel, config, source, warning=self.warning)
        over, us = self.tree.over_best[leaf], self.tree.us_per_work[leaf] * work(problem)
        return Entry(kernel, config, source, over, us, warning=self.warning)


def work(problem: Problem) -> int:
    """What times within a leaf are taken to be proportional to: operations, else bytes."""
    spec = declared(problem.op)
    return max(1, spec.flops(problem) or spec.bytes(problem))


def mismatch(raw: Any, specs: Mapping[str, OpSpec]) -> str:
    """Why a table is not for this build; empty when it is."""
    if raw["schema"] != SCHEMA:
        return f"schema {raw['schema']}, this build reads {SCHEMA}"
    if raw["op"] not in specs:
        return f"op {raw['op']!r} is not declared"
    version = specs[raw["op"]].version
    if raw["op_version"] != version:
        return f"made for version {raw['op_version']} of {raw['op']}, now {version}"
    if raw["basis"] not in (MEASURED, MODELLED):
        return f"basis {raw['basis']!r} is neither {MEASURED!r} nor {MODELLED!r}"
    if raw["dtype"] not in MODEL_DTYPES:
        return f"dtype {raw['dtype']!r} is none of {', '.join(MODEL_DTYPES)}"
    return ""


def parse(path: str, raw: Any, spec: OpSpec, warning: str = "") -> Table:
    """A table of JSON.

    Raises:
        ValueError, KeyError, TypeError: it cannot be walked.
    """
    known, names = features.names(spec), raw["features"]
    strange = [f for f in names if f not in known] if isinstance(names, list) else names
    if strange:
        raise ValueError(f"features {strange} are none of {spec.name}: {', '.join(known)}")
    candidates = [_candidate(c) for c in raw["candidates"]]
    tree = _tree(raw["tree"], len(names), len(candidates))
    sources = raw["sources"]
    if not isinstance(sources, dict) or not all(type(x) is str for x in sources.values()):
        raise ValueError("sources is no mapping from kernels to hashes")
    rows = {}
    for row in raw.get("rows", ()):
        key, best, us = tuple(row["features"]), row["best"], row["us"][row["best"]]
        if len(key) != len(names) or not 0 <= best < len(candidates) or not us > 0:
            raise ValueError(f"row {list(key)} does not fit the table")
        rows[key] = (best, us)
    identity = (raw["op"], raw["dtype"], raw["device"])
    return Table(
        path, *identity, tuple(names), tree, candidates, rows, sources, raw["basis"], warning
    )


def _tree(raw: Any, features: int, candidates: int) -> Tree:
    keys = ("feature", "threshold", "left", "right", "leaf")
    predicted = tuple(key for key in ("over_best", "us_per_work") if key in raw)
    for key in ("feature", "left", "right", "leaf"):
        if not all(type(value) is int for value in raw[key]):
            raise ValueError(f"{key} holds more than integers")
    for key in ("threshold", *predicted):
        if not all(type(value) in (int, float) and isfinite(value) for value in raw[key]):
            raise ValueError(f"{key} holds more than finite numbers")
    nodes = len(raw["feature"])
    if nodes == 0 or any(len(raw[key]) != nodes for key in (*keys, *predicted)):
        raise ValueError("the tree's columns differ in length")
    if len(predicted) == 1:
        raise ValueError(f"the tree has {predicted[0]} alone, need over_best and us_per_work")
    for node, (feature, left, right) in enumerate(
        zip(raw["feature"], raw["left"], raw["right"], strict=True)
    ):
        if feature >= features:
            raise ValueError(f"node {node} names feature {feature}")
        if feature < 0 and not 0 <= raw["leaf"][node] < candidates:
            raise ValueError(f"leaf {node} names candidate {raw['leaf'][node]}")
        # children after their parent: the walk ends
        if feature >= 0 and not node < min(left, right) < nodes:
            raise ValueError(f"node {node} has no children behind it")
        if feature >= 0 and max(left, right) >= nodes:
            raise ValueError(f"node {node} has children outside the tree")
    return Tree(*(raw[key] for key in keys), **{key: raw[key] for key in predicted})


def _candidate(raw: Any) -> tuple[str, Mapping[str, int]]:
    kernel, config = raw["kernel"], raw.get("config", {})
    if type(kernel) is not str or not isinstance(config, dict):
        raise ValueError(f"candidate {raw} needs a kernel's name and its config")
    if not all(type(value) is int for value in config.values()):
        raise ValueError(f"the config of {kernel} holds more than integers: {config}")
    return kernel, config
