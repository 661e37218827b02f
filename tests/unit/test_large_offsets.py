"""Width times vocabulary beyond 2^31: whole launches over memory of which few pages exist."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import xgr
from xgr.ops.array import EXCLUDE
from xgr.ops.tries import filters_of, trie_of

RT = xgr.runtime("cpu")
ROWS, CODES = 514, 1 << 22
CHILDREN = [0, 1, 12_345, CODES - 1]


@pytest.fixture(scope="module")
def logits() -> NDArray[np.float16]:
    """[ROWS, CODES], zero but for a few; only pages that are touched exist."""
    memory = mmap.mmap(-1, ROWS * CODES * 2, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    array = np.frombuffer(memory, np.float16).reshape(ROWS, CODES)
    for row in range(ROWS):
        array[row, CHILDREN] = (0.25, 0.5, 0.125, 0.75)
    # what a number taken modulo 2^32 or 2^31 would find
    array[0, 7] = array[1, 7] = 9
    array[-1, CHILDREN] = (1, 2, 3, 4)
    return array


def test_size(logits: NDArray[np.float16]) -> None:
    assert (ROWS - 1) * CODES > 2**31
    assert logits.flags.c_contiguous


@pytest.mark.parametrize("filtered", [False, True])
@pytest.mark.parametrize("padded", [False, True])
def test_beam_step_beyond_int32(logits: NDArray[np.float16], padded: bool, filtered: bool) -> None:
    """The fast kernel: sparse children of all rows, in contiguous rows and in parts of longer ones.

    The definition reads whole rows, beam_sort and mask_filter touch every score, and beam_step
    without a catalogue does as well: at this size that is 8 GB of float32 each, no light test.
    Their flat numbers are NumPy's own int64 (`flatnonzero`, `argsort`), as in this launch.
    """
    reach = CODES - 1 if padded else CODES
    children = [code for code in CHILDREN if code < reach]
    sids = np.array([(row, code) for row in range(ROWS) for code in children], np.int32)
    trie = trie_of(sids, (ROWS, reach))
    filters = None
    if filtered:  # the first row loses its last child, the last row its first
        alive = np.ones(len(sids), np.bool_)
        alive[[len(children) - 1, -len(children)]] = False
        filters = filters_of(trie, [EXCLUDE], [alive], [-1], [])
    width = 5
    found: dict[str, Any] = {
        "parent": np.empty(width, np.int32),
        "code": np.empty(width, np.int32),
        "node_out": np.empty(width, np.int32),
        "cumulative_out": np.empty(width, np.float32),
        "live_out": np.empty(1, np.int32),
        "status": np.zeros(1, np.int32),
    }
    RT.beam_step(
        logits=logits[:, :reach],
        cumulative=np.zeros(ROWS, np.float32),
        node=np.arange(ROWS, dtype=np.int32),
        row_start=np.array([0, ROWS], np.int32),
        live=np.array([ROWS], np.int32),
        row_start_out=np.array([0, width], np.int32),
        out_width=np.array([width], np.int32),
        trie=trie,
        filters=filters,
        level=1,
        normalize="none",
        order="rank",
        kernel="cpu_ref.fast",
        **found,
    )
    rows = np.repeat(np.arange(ROWS), len(children))
    score = logits[rows, sids[:, 1]].astype(np.float32)
    if filtered:
        score[~alive] = -np.inf
    best = np.argsort(-score, kind="stable")[:width]
    assert found["parent"][0] == ROWS - 1
    for name, expected in (
        ("parent", rows), ("code", sids[:, 1]), ("node_out", np.arange(len(sids))),
        ("cumulative_out", score),
    ):  # fmt: skip
        np.testing.assert_array_equal(found[name], expected[best], err_msg=name)
