"""Made-up rows of beam_sort: which candidate is fastest depends on the columns alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from xgr.backends.cpu_ref.backend import CpuBackend
from xgr.ops.spec import Problem
from xgr.registry.table import MEASURED
from xgr.runtime import Runtime
from xgr.tuner import run, sample
from xgr.tuner.journal import Journal, Row
from xgr.tuner.space import Candidate

OWN = str(Candidate("cpu_ref.fast"))
SMALL = str(Candidate("cpu_ref.fast", {"tiles": 2}))
LARGE = str(Candidate("cpu_ref.fast", {"tiles": 8}))


def runtime() -> Runtime:
    return Runtime("cpu", CpuBackend())


def problem(columns: int, rows: int = 8) -> Problem:
    sizes = {"R": rows, "RO": rows, "C": columns, "B": 1}
    return Problem.of("beam_sort", "float32", {"order": "path"}, **sizes)


def row(at: int, columns: int, noise: float = 1.0, second: bool = False) -> Row:
    """`SMALL` is best up to 100 columns, `LARGE` beyond; the own rule is half as fast."""
    us = {OWN: 2.0 * columns, SMALL: 1.0 * columns, LARGE: 1.5 * columns}
    if columns > 100:
        us[SMALL], us[LARGE] = us[LARGE], us[SMALL]
    return Row(at, second, problem(columns), OWN, {n: t * noise for n, t in us.items()}, {})


def rows(count: int = 32) -> Sequence[Row]:
    """Of a sample, with the second measurements of those held out."""
    found = []
    for at in range(count):
        columns = 10 + 7 * at
        found.append(row(at, columns))
        if at % sample.HELD_OUT == sample.HELD_OUT - 1:
            found.append(row(at, columns, noise=1.01, second=True))
    return found


def journal(path: Path, found: Sequence[Row]) -> Path:
    written = Journal(path, run.identity(runtime(), "beam_sort", "float32", MEASURED), {})
    for one in found:
        written.add(one)
    return path


def changed(path: Path, **changes: Any) -> None:
    """Rewrite a JSON file with other values."""
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
