"""Workspaces stay, grow and are never shared between threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import ml_dtypes
import numpy as np

from xgr.backends.cpu_ref.scratch import Scratch


def test_a_buffer_is_reused_until_it_must_grow() -> None:
    scratch = Scratch()
    first = scratch("x", (4, 5))
    assert scratch("x", (2, 3)).base is first.base
    assert not np.shares_memory(scratch("y", (4, 5)), first)
    assert scratch("x", (50,)).shape == (50,)
    assert not np.shares_memory(scratch("x", (50,)), first)


def test_float32_is_not_copied_and_other_types_are() -> None:
    scratch = Scratch()
    array = np.ones(3, np.float32)
    assert scratch.float32("x", array) is array
    converted = scratch.float32("x", array.astype(ml_dtypes.bfloat16))
    assert converted.dtype == np.float32
    assert converted.tolist() == [1, 1, 1]


def test_each_thread_has_buffers_of_its_own() -> None:
    scratch = Scratch()
    mine = scratch("x", (4, 5))
    with ThreadPoolExecutor(1) as pool:
        theirs = pool.submit(scratch, "x", (4, 5)).result()
    assert not np.shares_memory(mine, theirs)
    assert np.shares_memory(mine, scratch("x", (4, 5)))
