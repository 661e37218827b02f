"""Where two tables of an op choose differently, on the problems that either of them measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xgr.errors import InputError
from xgr.ops import spec
from xgr.registry.table import Table, parse
from xgr.tuner.report import Lines
from xgr.tuner.space import Candidate


def lines(before: Mapping[str, Any], after: Mapping[str, Any]) -> Lines:
    """The differences.

    Raises:
        InputError: the tables are of different ops, dtypes or features.
    """
    for name in ("op", "dtype", "features"):
        if before[name] != after[name]:
            raise InputError(f"{name} is {before[name]} and {after[name]}: nothing to compare")
    first, second = (parse("", raw, spec(raw["op"])) for raw in (before, after))
    rows, total = [], 0
    for key, times in _measured(before, after).items():
        total += 1
        one, other = _choice(first, key), _choice(second, key)
        if one != other:
            shown = ", ".join(f"{n}={v}" for n, v in zip(first.features, key, strict=True) if v)
            us = [f"{times[c]:.1f}" if c in times else "not measured" for c in (one, other)]
            rows.append((shown, one, us[0], other, us[1]))
    heading = f"{before['op']} in {before['dtype']}: {len(rows)} of {total} problems differ"
    remarks = [
        f"{name}: {before[name]} and {after[name]}"
        for name in ("device", "sources", "op_version")
        if before[name] != after[name]
    ]
    columns = ("problem", "before", "us", "after", "us (both by the later table that has them)")
    return Lines(heading, columns, rows, remarks)


def _choice(table: Table, values: tuple[int, ...]) -> str:
    kernel, config = table.candidates[table.tree.leaf[table.tree.walk(values)]]
    return str(Candidate(kernel, config))


def _measured(*tables: Mapping[str, Any]) -> dict[tuple[int, ...], dict[str, float]]:
    """Microseconds by features and candidate; later tables win."""
    found = dict[tuple[int, ...], dict[str, float]]()
    for table in tables:
        texts: Sequence[str] = [
            str(Candidate(one["kernel"], one["config"])) for one in table["candidates"]
        ]
        for row in table["rows"]:
            us = {t: x for t, x in zip(texts, row["us"], strict=True) if x is not None}
            found.setdefault(tuple(row["features"]), {}).update(us)
    return found
