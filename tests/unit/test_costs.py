"""What grows with the beam width and what does not: counted, never timed."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xgr
from xgr.backends.cpu_ref.fast import beam_sort as fast_sort
from xgr.backends.cpu_ref.fast import beam_step as fast_step
from xgr.backends.cpu_ref.fast.selection import best
from xgr.ops import spec, specs
from xgr.ops.spec import Problem
from xgr.ops.tries import trie_of

RT = xgr.runtime("cpu")
WIDTHS = [20, 40, 80, 160, 320]
ATTENTION = {"H": 8, "G": 4, "d": 64, "B": 2}
Values = dict[str, Any]


def problem(op: str, **sizes: int) -> Problem:
    """The problem of an op's first case with other sizes."""
    case = next(iter(spec(op).cases()))
    return Problem.of(op, case.dtype, case.flags, **{**case.sizes, **sizes})


@pytest.mark.parametrize("op", ["shared_attention", "staged_attention"])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_prompt_is_read_once_whatever_the_width(op: str, width: int) -> None:
    """An attention that reads the prompt again for each beam has prompt * width in its bytes."""
    declared, item = spec(op), 4
    for tokens in (100, 1000):
        shares = {
            rows: declared.bytes(problem(op, **ATTENTION, R=rows, T=tokens))
            - declared.bytes(problem(op, **ATTENTION, R=rows, T=0))
            for rows in (width, 2 * width)
        }
        once = 2 * item * tokens * ATTENTION["G"] * ATTENTION["d"]  # keys and values
        assert set(shares.values()) == {once}


@pytest.mark.parametrize("op", [op for op in specs() if "R" in spec(op).axes])
def test_declared_costs_grow_at_most_linearly_with_the_width(op: str) -> None:
    declared = spec(op)
    first = next(iter(declared.cases())).sizes
    axes = [axis for axis in ("R", "RO") if axis in first]
    for width in WIDTHS:
        one, two = (problem(op, **dict.fromkeys(axes, rows)) for rows in (width, 2 * width))
        assert declared.flops(two) <= 2 * declared.flops(one)
        assert declared.bytes(two) <= 2 * declared.bytes(one)


def search(width: int, columns: int) -> Values:
    """One request of `width` beams that is to keep as many; scores differ everywhere."""
    rng = np.random.default_rng(width)
    return {
        "cumulative": -rng.random(width, np.float32),
        "row_start": np.array([0, width], np.int32),
        "live": np.array([width], np.int32),
        "row_start_out": np.array([0, width], np.int32),
        "out_width": np.array([width], np.int32),
        "order": "path",
        "parent": np.empty(width, np.int32),
        "code": np.empty(width, np.int32),
        "live_out": np.empty(1, np.int32),
        "matrix": rng.standard_normal((width, columns), np.float32),
    }


def step_arguments(width: int, children: int = 16) -> Values:
    """A level whose nodes have `children` children each, among four times as many codes."""
    columns = 4 * children
    sids = np.stack(np.divmod(np.arange(width * children), children), axis=1).astype(np.int32)
    values = search(width, columns)
    return values | {
        "logits": values.pop("matrix"),
        "node": np.arange(width, dtype=np.int32),
        "trie": trie_of(sids, (width, columns)),
        "level": 1,
        "normalize": "none",
        "node_out": np.empty(width, np.int32),
        "cumulative_out": np.empty(width, np.float32),
        "status": np.zeros(1, np.int32),
    }


def test_beam_step_scores_the_children_and_no_pairs_of_beams(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scored: list[int] = []

    def counted(score: Any, width: int) -> Any:
        scored.append(len(score))
        return best(score, width)

    monkeypatch.setattr(fast_step, "best", counted)
    for width in WIDTHS:
        arguments = step_arguments(width)
        fast_step.beam_step(**arguments)
        assert arguments["live_out"] == [width]
    assert scored == [width * 16 for width in WIDTHS]


def test_beam_sort_visits_at_most_twice_as_many_for_twice_the_width() -> None:
    visited = []
    for width in WIDTHS:
        launch = fast_sort.BeamSort()
        values = search(width, 64)
        scores = values.pop("matrix")
        launch(scores=scores, score=np.empty(width, np.float32), **values)
        assert launch.candidates == width * 64
        visited.append(launch.visited / width)
    # candidates visited a beam do not grow; one draw differs from another by a few
    assert max(visited) <= 1.25 * visited[0]


def calls_of(launch: Callable[..., Any], arguments: Values) -> int:
    """Python and C calls of a launch."""
    count = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    launch(**arguments)  # workspaces grow
    before = sys.getprofile()
    gc.disable()  # test libraries are told of collections by Python functions
    sys.setprofile(note)
    try:
        launch(**arguments)
    finally:
        sys.setprofile(before)
        gc.enable()
    return count


def rows_arguments(op: str, width: int) -> Values:
    """Arguments of an op with one request of `width` live rows."""
    declared = spec(op)
    case = next(c for c in declared.cases() if c.sizes["B"] == 1 and c.sizes["R"] > 1)
    sizes = {**case.sizes, "R": width}
    case = type(case)(op, sizes, "float32", {**case.flags, "live": "all"})
    values = declared.build(case)
    for arg in declared.args:
        if arg.role == "out":
            kind = "float32" if arg.dtype == "model" else arg.dtype
            values[arg.name] = np.empty(declared.shape(arg, sizes), kind)
    return values


@pytest.mark.parametrize("op", ["unshared_attention", "kv_reorder", "beam_ancestors"])
def test_no_python_runs_for_each_row(op: str) -> None:
    counts = set()
    for width in (33, 100, 500):
        arguments = rows_arguments(op, width)
        bound = RT.bind(op, spec(op).problem(arguments, "float32"), "cpu_ref.fast")
        counts.add(calls_of(bound, arguments))
    assert len(counts) == 1


def test_no_python_runs_for_each_beam() -> None:
    counts = [calls_of(fast_step.beam_step, step_arguments(width)) for width in WIDTHS]
    # 16 times the beams; ties at the cut take a few calls more
    assert max(counts) < 1.5 * min(counts)


def test_shared_attention_needs_no_memory_by_prompt_times_width() -> None:
    tokens, size = 4000, 16
    rng = np.random.default_rng(0)
    k, v = (rng.standard_normal((tokens, 1, size), np.float32) for _ in range(2))
    for width in (64, 512):
        q = rng.standard_normal((width, 1, size), np.float32)
        arguments: Values = {
            "q": q, "k": k, "v": v, "scale": 0.25,
            "prompt_start": np.zeros(1, np.int32),
            "prompt_len": np.array([tokens], np.int32),
            "row_start": np.array([0, width], np.int32),
            "live": np.array([width], np.int32),
            "out": np.empty_like(q),
            "lse": np.empty((width, 1), np.float32),
        }  # fmt: skip
        tracemalloc.start()
        RT.shared_attention(**arguments, kernel="cpu_ref.fast")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    # what 64 beams needed serves 512: no row of scores, let alone of keys, for each beam
    assert peak < 512 * tokens * 4 / 8
