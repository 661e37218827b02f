"""Compile candidates ahead in processes of their own; compilers keep binaries on disk."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
from collections.abc import Hashable, Sequence
from concurrent.futures import ProcessPoolExecutor, wait

from xgr.ops.spec import Problem
from xgr.runtime import Runtime, runtime
from xgr.tuner import inputs, space

Job = tuple[str, Problem, space.Candidate]

# each process holds a context of the device, of about half a gigabyte
_PROCESSES = 14
# axes that kernels are compiled for; of the others a binary takes any size
_COMPILED = {"B", "H", "G", "d", "K", "C"}


def compile_ahead(rt: Runtime, problems: Sequence[Problem], seconds: float) -> None:
    """Launch the candidates of problems, one of each kind, until that is done or time is up.

    What is not compiled then is compiled when it is measured.
    """
    todo = list(jobs(rt, problems))
    random.Random(0).shuffle(todo)  # neighbours often need the same binary
    count = max(1, min(_PROCESSES, (os.cpu_count() or 1) - 1, len(todo)))
    pool = ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn"))
    try:
        wait([pool.submit(launch_once, job) for job in todo], timeout=max(0.0, seconds))
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def jobs(rt: Runtime, problems: Sequence[Problem]) -> Sequence[Job]:
    """One launch of each candidate and kind of problem, on the smallest of them."""
    found = dict[Hashable, Job]()
    for problem in sorted(problems, key=lambda one: sum(one.sizes.values())):
        fixed = tuple(one for one in problem.axes if one[0] in _COMPILED)
        # the order of a beam step is a kernel of its own, which has no tunables
        flags = tuple(one for one in problem.flags if one[0] != "order")
        for candidate in space.candidates(rt, problem):
            key = (fixed, flags, str(candidate))
            found.setdefault(key, (rt.device, problem, candidate))
    return list(found.values())


def launch_once(job: Job) -> None:
    """Compile what a candidate needs; whether it runs is found out when it is measured."""
    device, problem, candidate = job
    rt = runtime(device)
    with contextlib.suppress(Exception):
        launch = space.build(rt, problem, candidate)
        inputs.plan(launch, problem)
        launch(**inputs.arguments(rt, problem, filled=False)[0])
        rt.synchronize()
