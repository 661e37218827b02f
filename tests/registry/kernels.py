"""Kernel records that do nothing or remember what they were given, and runtimes to put them in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from xgr.backends.cpu_ref.backend import CpuBackend
from xgr.backends.null.backend import NullBackend
from xgr.errors import Reason
from xgr.ops import spec
from xgr.ops.spec import Flag, Problem
from xgr.registry import Context, Kernel, Launcher
from xgr.runtime import Runtime


def cpu() -> Runtime:
    """A runtime of its own: kernels registered in it are gone with it."""
    return Runtime("cpu", CpuBackend())


def null() -> Runtime:
    return Runtime("null", NullBackend())


def sort(columns: int = 8, rows: int = 4, dtype: str = "float32", **flags: Flag) -> Problem:
    sizes = {"R": rows, "RO": rows, "C": columns, "B": 1}
    return Problem.of("beam_sort", dtype, {"order": "path", **flags}, **sizes)


def arguments(rt: Runtime, columns: int = 8, rows: int = 4) -> dict[str, Any]:
    """What `sort` poses, as arrays of a runtime: one request of one live row."""
    ints = {"parent": [0] * rows, "code": [0] * rows, "live_out": [0]}
    ints |= {"row_start": [0, rows], "row_start_out": [0, rows], "live": [1], "out_width": [rows]}
    return {
        "scores": rt.upload([[float(c) for c in range(columns)]] * rows),
        "cumulative": rt.upload([0.0] * rows),
        "score": rt.upload([0.0] * rows),
        "order": "path",
        **{name: rt.upload(values) for name, values in ints.items()},
    }


def staged(tokens: int = 60, dtype: str = "float32", **flags: Flag) -> Problem:
    """Staged attention, above toy size from some thousand tokens on."""
    sizes = {"R": 16, "H": 4, "G": 2, "d": 64, "T": tokens, "S": 3, "B": 1}
    return Problem.of("staged_attention", dtype, flags, **sizes)


def nothing(**arguments: Any) -> None:
    return


class Spy:
    """Builds a launcher that does nothing and keeps what every build was given."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.configs: list[dict[str, int]] = []

    def __call__(self, problem: Problem, context: Context) -> Launcher:
        self.problems.append(problem)
        self.configs.append(dict(context.config))
        return nothing


def kernel(op: str, name: str, **facts: Any) -> Kernel:
    return Kernel(op, name, **{"factory": Spy(), **facts})


def refuses(problem: Problem) -> tuple[Reason, ...]:
    return (Reason("moon", "wane", "full", "wait a week"),)


def table(op: str = "beam_sort", **changes: Any) -> dict[str, Any]:
    """A table of two leaves: first candidate up to C = 16, second above; columns as in JSON."""
    tree = {
        "feature": [0, -1, -1],
        "threshold": [16.5, 0, 0],
        "left": [1, -1, -1],
        "right": [2, -1, -1],
        "leaf": [-1, 0, 1],
    }
    raw = {
        "schema": 3,
        "basis": "measured",
        "op": op,
        "op_version": spec(op).version,
        "dtype": "float32",
        "device": CpuBackend().device,
        "family": "cpu_ref",
        "sources": {},
        "features": ["C"],
        "tree": tree | changes.pop("tree", {}),
        "candidates": [
            {"kernel": "tests.narrow", "config": {"tile": 32}},
            {"kernel": "tests.wide", "config": {"tile": 64}},
        ],
    }
    return raw | changes


def write(folder: Path, raw: object, name: str = "beam_sort.json") -> Path:
    (folder / name).write_text(raw if isinstance(raw, str) else json.dumps(raw))
    return folder
