"""A journal's rows as a tuned table: fit, judge, plain arrays in JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from xgr.bench import record
from xgr.registry import features
from xgr.registry.table import SCHEMA
from xgr.tuner.fit import Fitted, fit
from xgr.tuner.journal import Row, read
from xgr.tuner.regret import judge
from xgr.tuner.run import held_out
from xgr.tuner.space import Candidate


def table_of(journal: Path) -> dict[str, Any]:
    """The table of a journal, as JSON.

    Raises:
        InputError: the file is no journal, or holds too few rows.
    """
    head, rows, _ = read(journal)
    seen, pairs = split(rows)
    tree = fit(seen)
    return {
        "schema": SCHEMA,
        "basis": head["basis"],
        **{name: head[name] for name in ("op", "op_version", "dtype", "device", "family", "cores")},
        "sources": head["sources"],
        "environment": head.get("environment", {}),
        **_tree(tree, rows),
        "fit": {"rows": len(seen), "depth": tree.depth, "least_rows": tree.least,
                "cross_validated_regret": tree.cv_regret},
        "held_out": asdict(judge(tree.choose, seen, pairs)) if pairs else None,
    }  # fmt: skip


def write(journal: Path, path: Path) -> dict[str, Any]:
    """Fit and write; returns the table."""
    table = table_of(journal)
    # a row a line: a table is read in diffs
    rows = ",\n  ".join(json.dumps(row) for row in table["rows"])
    rest = json.dumps({**table, "rows": []}, indent=1, allow_nan=False)
    record.write_text(path, rest.replace('"rows": []', f'"rows": [\n  {rows}\n ]') + "\n")
    return table


def split(rows: Sequence[Row]) -> tuple[list[Row], list[tuple[Row, Row]]]:
    """Rows of the fit, and both measurements of the problems that are held out of it."""
    first = {row.at: row for row in rows if not row.second}
    again = {row.at: row for row in rows if row.second}
    pairs = [(first[at], again[at]) for at in sorted(again) if at in first]
    return [row for at, row in first.items() if not held_out(at)], pairs


def _tree(tree: Fitted, rows: Sequence[Row]) -> Mapping[str, Any]:
    """Tree and rows, which count candidates alike: those that leaves name come first."""
    texts = list(dict.fromkeys([*tree.candidates, *(name for row in rows for name in row.us)]))
    return {
        "features": list(tree.features),
        "tree": {name: _short(column) for name, column in tree.columns.items()},
        "candidates": [Candidate.parse(text).to_json() for text in texts],
        "rows": [
            {
                "features": list(features.values(row.problem, tuple(tree.features))),
                "best": texts.index(min(row.us, key=row.us.__getitem__)),
                "own": texts.index(row.own),
                "held_out": held_out(row.at),
                "us": [round(row.us[t], 3) if t in row.us else None for t in texts],
            }
            for row in rows
            if not row.second
        ],
    }


def _short(column: Sequence[Any]) -> list[Any]:
    return [float(f"{x:.6g}") if isinstance(x, float) else x for x in column]
