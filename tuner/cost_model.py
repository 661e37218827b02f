"""Rows by the kernels' cost models instead of by measuring, for a device that nobody has measured.

They go the same way as measured rows: a journal, a fit, a table. Both say what they are.
"""

from __future__ import annotations

from pathlib import Path

from xgr.errors import InputError
from xgr.ops.spec import Problem
from xgr.registry.table import MODELLED
from xgr.runtime import Runtime
from xgr.tuner import run, space
from xgr.tuner.journal import Journal, Row


def fill(rt: Runtime, op: str, dtype: str, path: Path, problems: int = run.PROBLEMS) -> Journal:
    """Fill a journal; what it holds already is not repeated.

    Args:
        rt: a device that is here, or one that is planned for.
        op: of `sample.SAMPLED`.
        dtype: a model dtype.
        path: the journal.
        problems: of the sample.

    Raises:
        InputError: the op has no sample, or its kernels on this device no cost model.
    """
    drawn = run.draw(rt, op, dtype, problems)
    facts = {"environment": run.environment(rt)}
    journal = Journal(path, run.identity(rt, op, dtype, MODELLED), facts)
    for at, second in run.missing(journal, len(drawn)):
        journal.add(_row(rt, drawn[at], at, second))
    return journal


def _row(rt: Runtime, problem: Problem, at: int, second: bool) -> Row:
    own, cores = str(space.own_choice(rt, problem)), rt.backend.cores
    kernels = {kernel.name: kernel for kernel in rt.kernels(problem.op)}
    found = {
        str(one): kernels[one.kernel].modelled_us(problem, one.config, cores)
        for one in space.candidates(rt, problem)
    }
    times = {name: us for name, us in found.items() if us is not None}
    if own not in times:
        raise InputError(
            f"{own}, the choice for {problem} on {rt.backend.device}, has no cost model: "
            "`xgr tune` measures a device that is here"
        )
    return Row(at, second, problem, own, times, {})
