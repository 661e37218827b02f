"""Compile ahead, in parallel: Triton keeps binaries on disk, where the timed process finds them."""

from __future__ import annotations

import multiprocessing
import os
import random
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

Job = TypeVar("Job")

# each process holds a context of the device, of about half a gigabyte
MOST_PROCESSES = 14


def compile_ahead(launch: Callable[[Job], None], jobs: Sequence[Job]) -> None:
    """Call `launch` on every job, in processes of their own.

    Args:
        launch: a function of a module; it launches once what is to be compiled.
        jobs: picklable; neighbours often need the same binary, so they are shuffled.
    """
    shuffled = random.Random(0).sample(list(jobs), len(jobs))
    count = min(MOST_PROCESSES, os.cpu_count() or 1, len(jobs))
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(count, mp_context=spawn) as pool:
        for _ in pool.map(launch, shuffled):
            pass
