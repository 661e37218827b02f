"""The sequential in-place schedule, the definition and the fast kernel move rows alike.

The schedule: rows whose parent is above them in ascending order, then rows whose parent is below
them in descending order. No row is overwritten before all who need it have read it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations_with_replacement

import numpy as np
import pytest

import xgr
from xgr.ops.kv_reorder import BAD_PARENT

RT = xgr.runtime("cpu")
Schedule = Callable[[Sequence[int]], list[int]]


def two_passes(parent: Sequence[int]) -> list[int]:
    rows = range(len(parent))
    return [i for i in rows if parent[i] > i] + [i for i in reversed(rows) if parent[i] < i]


def moved(parent: Sequence[int], width: int, schedule: Schedule) -> list[int]:
    rows = list(range(width))
    for i in schedule(parent):
        rows[i] = rows[parent[i]]
    return rows


@pytest.mark.parametrize("width", range(1, 8))
def test_the_schedule_equals_a_gather_for_all_sorted_parents(width: int) -> None:
    for live in range(1, width + 1):  # the beams grow or shrink from `width` old rows
        for parent in combinations_with_replacement(range(width), live):
            rows = moved(parent, width, two_passes)
            assert rows == [*parent, *range(live, width)]


def test_the_order_inside_a_pass_matters() -> None:
    def backwards(parent: Sequence[int]) -> list[int]:
        return two_passes(parent)[::-1]

    wrong = [
        parent
        for parent in combinations_with_replacement(range(4), 4)
        if moved(parent, 4, backwards) != list(parent)
    ]
    assert wrong


@pytest.mark.parametrize("kernel", ["cpu_ref.reference", "cpu_ref.fast"])
def test_kernels_equal_the_schedule(kernel: str) -> None:
    width, start = 4, np.array([0, 2, 6, 7], np.int32)
    for live in range(1, width + 1):
        for parent in combinations_with_replacement(range(width), live):
            k = np.arange(8, dtype=np.float32).reshape(1, 8, 1, 1, 1).repeat(2, axis=2)
            v, status = -k, np.zeros(3, np.int32)
            parents = np.array([1, 1, *(2 + p for p in parent), *[-1] * (6 - live)], np.int32)
            RT.kv_reorder(
                k=k, v=v, parent=parents, row_start=start, live=np.array([2, live, 0], np.int32),
                status=status, step=1, kernel=kernel,
            )  # fmt: skip
            rows = [2 + p for p in moved(parent, width, two_passes)]
            assert k[0, :, 0, 0, 0].tolist() == [1, 1, *rows, 6, 7]
            assert v[0, :, 0, 0, 0].tolist() == [-1, -1, *(-r for r in rows), -6, -7]
            assert k[0, :, 1, 0, 0].tolist() == list(range(8))  # a slot that is not valid yet
            assert not status.any()


@pytest.mark.parametrize("kernel", ["cpu_ref.reference", "cpu_ref.fast"])
@pytest.mark.parametrize("bad", [[1, 0, 2], [0, 2, 1], [-1, 0, 1], [0, 1, 3], [0, 1, 1 << 30]])
def test_bad_parents_cost_their_own_request_only(kernel: str, bad: list[int]) -> None:
    rows = dict(row_start=np.array([0, 3, 6], np.int32), live=np.array([3, 3], np.int32))
    parent, status = np.array([*bad, 4, 5, 5, -1], np.int32), np.array([1, 0], np.int32)
    k = np.arange(7, dtype=np.float32).reshape(1, 7, 1, 1, 1)
    v = k.copy()
    RT.kv_reorder(k=k, v=v, parent=parent, status=status, step=1, kernel=kernel, **rows)
    assert k.ravel().tolist() == v.ravel().tolist() == [0, 1, 2, 4, 5, 5, 6]
    assert status.tolist() == [1 | BAD_PARENT, 0]

    ancestors = np.array([[1], [1], [1], [3], [3], [4], [6]], np.int32)
    out, status = np.empty_like(ancestors), np.zeros(2, np.int32)
    RT.beam_ancestors(
        ancestors=ancestors, parent=parent, out=out, status=status, step=1, kernel=kernel, **rows
    )
    assert out.ravel().tolist() == [0, 1, 2, 3, 4, 4, 6]
    assert status.tolist() == [BAD_PARENT, 0]
