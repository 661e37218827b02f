"""Measure an op on a device, within a budget of time, into a journal."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from xgr.backends.base import Stream
from xgr.bench import record
from xgr.conformance.replays import on_device
from xgr.errors import InputError
from xgr.ops import spec
from xgr.ops.dtype import MODEL_DTYPES
from xgr.ops.spec import Problem
from xgr.registry.source import source_hash
from xgr.registry.table import MEASURED
from xgr.runtime import Runtime
from xgr.tuner import ahead, sample, space
from xgr.tuner.journal import Journal, Row
from xgr.tuner.measure import Bench

# told how many rows there are, of how many, and about how many seconds are left
Progress = Callable[[int, int, float], None]

# problems of a sample unless the budget ends before
PROBLEMS = 96
# share of the budget in which binaries are compiled ahead
AHEAD = 0.5

# what is tuned unless the caller says otherwise, in the dtype that the engine binds
DEFAULT: dict[str, dict[str, str]] = {
    "cuda": {"staged_attention": "bfloat16", "beam_step": "float32"},
    "ascend": {"staged_attention": "bfloat16"},
    "cpu_ref": dict.fromkeys(("beam_sort", "shared_attention", "prefill_attention"), "float32"),
}


def measure(
    rt: Runtime,
    op: str,
    dtype: str,
    path: Path,
    budget: float,
    problems: int = PROBLEMS,
    progress: Progress = lambda done, total, left: None,
) -> Journal:
    """Measure until the sample or the budget ends; what the journal holds already is not repeated.

    Args:
        rt: the device; its tuned tables do not matter.
        op: of `sample.SAMPLED`.
        dtype: a model dtype.
        path: the journal.
        budget: seconds, compilation included; the row that is being measured is finished.
        problems: of the sample.
        progress: told after every row.

    Raises:
        InputError: as `draw` has it, the op has nothing to choose from on this device, or the
            journal is of something else or cannot be written.
    """
    end = time.monotonic() + budget
    drawn = draw(rt, op, dtype, problems)
    if all(len(space.candidates(rt, one)) < 2 for one in drawn):
        raise InputError(f"{op} in {dtype} leaves nothing to choose on {rt.backend.device}")
    journal = Journal(path, identity(rt, op, dtype, MEASURED), {"environment": environment(rt)})
    todo = missing(journal, len(drawn))
    if on_device(rt) and todo:
        wanted = [drawn[at] for at, _ in todo]
        ahead.compile_ahead(rt, wanted, AHEAD * (end - time.monotonic()))
    start, total = time.monotonic(), len(todo) + len(journal.rows)
    stream = rt.stream()
    for count, (at, second) in enumerate(todo):
        now = time.monotonic()
        if now >= end:
            break
        journal.add(_row(rt, stream, drawn[at], at, second))
        each = (time.monotonic() - start) / (count + 1)
        left = min(each * (len(todo) - count - 1), end - time.monotonic())
        progress(len(journal.rows), total, max(0.0, left))
    return journal


def check(op: str, dtype: str) -> None:
    """Refuse an op that has no sample and what is no model dtype.

    Raises:
        InputError: with those that are allowed.
    """
    if op not in sample.SAMPLED:
        raise InputError(f"{op!r} is not tuned; tuned ops: {', '.join(sample.SAMPLED)}")
    if dtype not in MODEL_DTYPES:
        raise InputError(f"{op}: dtype {dtype!r}, allowed: {', '.join(MODEL_DTYPES)}")


def draw(rt: Runtime, op: str, dtype: str, problems: int) -> list[Problem]:
    """The first problems of an op's sample.

    Raises:
        InputError: as `check` has it, or no problem is asked for.
    """
    check(op, dtype)
    if problems < 1:
        raise InputError(f"problems is {problems}, need a positive number")
    return list(islice(sample.problems(op, dtype, rt.backend), problems))


def missing(journal: Journal, problems: int) -> list[tuple[int, bool]]:
    """Number and turn of the rows that a journal of so many problems lacks, in order."""
    done = {(row.at, row.second) for row in journal.rows}
    return [one for one in _order(problems) if one not in done]


def identity(rt: Runtime, op: str, dtype: str, basis: str) -> dict[str, Any]:
    """What the rows of a journal have in common; `basis` says what their times are."""
    return {
        "journal": 1,
        "basis": basis,
        "op": op,
        "op_version": spec(op).version,
        "dtype": dtype,
        "device": rt.backend.device,
        "family": rt.backend.family,
        "cores": rt.backend.cores,
        "sources": {k.name: source_hash(k) for k in rt.kernels(op) if source_hash(k)},
    }


def environment(rt: Runtime) -> dict[str, Any]:
    """Device, driver and versions, and the rest that every record of a benchmark has."""
    found = {**record.environment(), "summary": type(rt.backend).probe().summary}
    if on_device(rt) and (smi := shutil.which("nvidia-smi")):
        words = [smi, "--query-gpu=driver_version", "--format=csv,noheader"]
        listed = subprocess.run(words, capture_output=True, text=True, check=False).stdout.split()
        found["driver"] = listed[0] if listed else None
    return found


def held_out(at: int) -> bool:
    """Whether a problem of the sample is kept from the fit and measured twice."""
    return at % sample.HELD_OUT == sample.HELD_OUT - 1


def _order(problems: int) -> Iterator[tuple[int, bool]]:
    """The sample in order; a held-out problem comes again when the next one has come."""
    before = -1
    for at in range(problems):
        yield at, False
        if held_out(at):
            if before >= 0:
                yield before, True
            before = at
    if before >= 0:
        yield before, True


def _row(rt: Runtime, stream: Stream, problem: Problem, at: int, second: bool) -> Row:
    own = space.own_choice(rt, problem)
    bench = Bench(rt, problem, own, stream)
    listed = space.candidates(rt, problem)
    # the other way round: no candidate is always the one after the clock has risen
    found = {str(one): bench.us(one) for one in (listed[::-1] if second else listed)}
    times = {name: us for name, us in found.items() if isinstance(us, float)}
    failed = {name: why for name, why in found.items() if isinstance(why, str)}
    if str(own) not in times:
        raise InputError(f"{own} fails at {problem}: {failed[str(own)]}")
    return Row(at, second, problem, str(own), times, failed)
